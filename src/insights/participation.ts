/** How a board stands against its goal: how scores are spread, and who may miss it. */
import type { Dataset } from '../dataset/dataset.ts';
import type { Scope } from '../dataset/scope.ts';
import type { BoardPolicy, Span } from '../points/policy.ts';

/** Tenths of the goal; the last one is the goal and beyond. */
export const BINS = 11;

export interface Participant {
  /** Index of the user. */
  readonly user: number;
  readonly totalPoints: number;
  readonly participationScore: number;
}

export interface Participation {
  readonly goal: number;
  readonly windowStartMs: number | undefined;
  readonly windowEndMs: number | undefined;
  readonly people: number;
  readonly reached: number;
  /** With some points, but not the goal; and without any. */
  readonly underWay: number;
  readonly notStarted: number;
  /** People by tenths of the goal reached, from 0 to less than one tenth on; the last is the goal and beyond. */
  readonly distribution: readonly number[];
  readonly medianPoints: number;
  /**
   * How much of the window has passed at the instant asked for, from 0 to 1, and the points of somebody who earns the goal
   * evenly; absent when the window is open at an end.
   */
  readonly elapsed: number | undefined;
  readonly pacePoints: number | undefined;
  /** Below that pace, or, without one, below the goal; fewest points first, at most as many as asked for. */
  readonly atRisk: readonly Participant[];
  readonly atRiskCount: number;
}

/** Figures of all time, as the points routes give them without a range (decision 26). */
export async function measureParticipation(
  dataset: Dataset,
  scope: Scope,
  board: number,
  policy: BoardPolicy,
  { atMs, most }: { readonly atMs: number | undefined; readonly most: number },
): Promise<Participation> {
  const { goal, window } = policy;
  const { count, user, totalPoints, participationScore } = await dataset.standings({
    scope,
    range: {},
    of: { board },
  });
  const distribution = new Array<number>(BINS).fill(0);
  for (let row = 0; row < count; row++) {
    const tenths = Math.floor((totalPoints[row]! * (BINS - 1)) / goal);
    distribution[Math.min(tenths, BINS - 1)]! += 1;
  }
  const elapsed = atMs === undefined ? undefined : elapsedAt(window, atMs);
  const pacePoints = elapsed === undefined ? undefined : elapsed * goal;
  const behind = Array.from(totalPoints.keys())
    .filter((row) => totalPoints[row]! < (pacePoints ?? goal))
    .sort((one, other) => totalPoints[one]! - totalPoints[other]!);
  const reached = totalPoints.filter((points) => points >= goal).length;
  const notStarted = totalPoints.filter((points) => points === 0).length;
  return {
    goal,
    windowStartMs: window.fromMs,
    windowEndMs: window.untilMs,
    people: count,
    reached,
    underWay: count - reached - notStarted,
    notStarted,
    distribution,
    medianPoints: medianOf(totalPoints),
    elapsed,
    pacePoints,
    atRisk: behind.slice(0, most).map((row) => ({
      user: user[row]!,
      totalPoints: totalPoints[row]!,
      participationScore: participationScore[row]!,
    })),
    atRiskCount: behind.length,
  };
}

function elapsedAt({ fromMs, untilMs }: Span, atMs: number): number | undefined {
  if (fromMs === undefined || untilMs === undefined) return undefined;
  return Math.min(Math.max((atMs - fromMs) / (untilMs - fromMs), 0), 1);
}

/** The lower one of the two in the middle; 0 of none. */
function medianOf(values: Float64Array): number {
  return values.toSorted()[(values.length - 1) >> 1] ?? 0;
}
