/** Progress of a board towards its goal: the distribution of points, and users at risk. */
import type { Dataset } from '../dataset/dataset.ts';
import type { Scope } from '../domain/scope.ts';
import type { BoardPolicy, Span } from '../points/policy.ts';
import { inSlices } from '../system/time-slice.ts';
import { Top } from './top.ts';

/** One bin per tenth of the goal; the last bin is the goal and above. */
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
  /** Users below the goal with points, and users without points. */
  readonly underWay: number;
  readonly notStarted: number;
  /**
   * Users by tenths of the goal that they reached. The first bin is 0 to less than one tenth, the
   * last is the goal and above.
   */
  readonly distribution: readonly number[];
  readonly medianPoints: number;
  /**
   * The share of the window that has passed at the requested instant, from 0 to 1, and the points
   * of a user who earns the goal at an even pace. Undefined without an instant, or if the window
   * has no start or no end.
   */
  readonly elapsed: number | undefined;
  readonly pacePoints: number | undefined;
  /**
   * Users below `pacePoints`, or below the goal if there is no pace; fewest points first, at most
   * `most`.
   */
  readonly atRisk: readonly Participant[];
  readonly atRiskCount: number;
}

/** Uses the points totals of all time, as the points routes without a range do (decision 50). */
export async function measureParticipation(
  dataset: Dataset,
  scope: Scope,
  board: number,
  policy: BoardPolicy,
  { atMs, most }: { readonly atMs: number | undefined; readonly most: number },
): Promise<Participation> {
  const { goal, window } = policy;
  const standings = await dataset.standings({ scope, range: {}, of: { board } });
  const { count, user, totalPoints, participationScore } = standings;
  const elapsed = atMs === undefined ? undefined : elapsedAt(window, atMs);
  const pacePoints = elapsed === undefined ? undefined : elapsed * goal;
  const { distribution, reached, notStarted } = await spread(totalPoints, goal);
  const { first, all } = await fewest(totalPoints, pacePoints ?? goal, most);
  return {
    goal,
    windowStartMs: window.fromMs,
    windowEndMs: window.untilMs,
    people: count,
    reached,
    underWay: count - reached - notStarted,
    notStarted,
    distribution,
    medianPoints: await medianOf(totalPoints),
    elapsed,
    pacePoints,
    atRisk: first.map((row) => ({
      user: user[row]!,
      totalPoints: totalPoints[row]!,
      participationScore: participationScore[row]!,
    })),
    atRiskCount: all,
  };
}

async function spread(totalPoints: Float64Array, goal: number) {
  const distribution = new Array<number>(BINS).fill(0);
  let reached = 0;
  let notStarted = 0;
  await inSlices(0, totalPoints.length, (from, to) => {
    for (let row = from; row < to; row++) {
      const points = totalPoints[row]!;
      const tenths = Math.floor((points * (BINS - 1)) / goal);
      distribution[Math.min(tenths, BINS - 1)]! += 1;
      if (points >= goal) reached += 1;
      if (points === 0) notStarted += 1;
    }
  });
  return { distribution, reached, notStarted };
}

/** Rows with less than `below` points: the first `most`, fewest points first, and their number. */
async function fewest(totalPoints: Float64Array, below: number, most: number) {
  const top = new Top(most);
  let all = 0;
  await inSlices(0, totalPoints.length, (from, to) => {
    for (let row = from; row < to; row++) {
      if (totalPoints[row]! >= below) continue;
      all += 1;
      top.offer(-totalPoints[row]!, row);
    }
  });
  return { first: top.ranked().map(({ place }) => place), all };
}

function elapsedAt({ fromMs, untilMs }: Span, atMs: number): number | undefined {
  if (fromMs === undefined || untilMs === undefined) return undefined;
  return Math.min(Math.max((atMs - fromMs) / (untilMs - fromMs), 0), 1);
}

/**
 * The lower median; 0 if there are no totals. A binary search for the least integer that half of
 * the totals do not exceed, because sorting a million totals would block the event loop.
 */
export async function medianOf(totals: Float64Array): Promise<number> {
  const half = (totals.length + 1) >> 1;
  let low = 0;
  let high = await largestOf(totals);
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2);
    if ((await countUpTo(totals, middle)) >= half) high = middle;
    else low = middle + 1;
  }
  return low;
}

async function largestOf(totals: Float64Array): Promise<number> {
  let largest = 0;
  await inSlices(0, totals.length, (from, to) => {
    for (let row = from; row < to; row++) largest = Math.max(largest, totals[row]!);
  });
  return largest;
}

async function countUpTo(totals: Float64Array, value: number): Promise<number> {
  let count = 0;
  await inSlices(0, totals.length, (from, to) => {
    for (let row = from; row < to; row++) if (totals[row]! <= value) count += 1;
  });
  return count;
}
