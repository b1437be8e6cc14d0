/** The users on a board who need attention: without activity, or far behind the others. */
import type { Dataset } from '../dataset/dataset.ts';
import { inSlices } from '../system/time-slice.ts';
import { medianOf, type Participant } from './participation.ts';
import { findLast } from './ranking.ts';
import type { Asked } from './scan.ts';
import { Top } from './top.ts';

const DAY_MS = 86_400_000;
/** Rank of users who never acted: above every time in milliseconds, less their points. */
const NEVER = Number.MAX_SAFE_INTEGER;

export interface NeedsAttention extends Participant {
  /** The user's latest event on the board; undefined if there is none. */
  readonly lastMs: number | undefined;
  /** Whole days since then, of 24 hours. */
  readonly inactiveDays: number | undefined;
  readonly isInactive: boolean;
  readonly isBehind: boolean;
}

export interface Attention {
  /** Users on the board. */
  readonly people: number;
  readonly medianPoints: number;
  readonly inactiveCount: number;
  readonly behindCount: number;
  /** Users who are inactive, behind or both. */
  readonly count: number;
  /**
   * Users who never acted, fewest points first, then the others, longest without activity first; at
   * most `most`.
   */
  readonly users: readonly NeedsAttention[];
}

/**
 * A user is inactive without an event on the board, or if the latest one is at least `days` days
 * before `atMs`; later events are ignored. A user is behind with less than half the median of the
 * points on the board, which are those of all time, as in `measureParticipation` (decision 94).
 */
export async function findAttention(
  dataset: Dataset,
  { board, ...asked }: Pick<Asked, 'scope' | 'threads'> & { readonly board: number },
  { atMs, days, most }: { readonly atMs: number; readonly days: number; readonly most: number },
): Promise<Attention> {
  const standings = await dataset.standings({ scope: asked.scope, range: {}, of: { board } });
  const { count, user, totalPoints, participationScore } = standings;
  const lastMs = await findLast(dataset, { ...asked, board, range: { endMs: atMs + 1 } }, 'actor');
  const medianPoints = await medianOf(totalPoints);
  const isInactive = (row: number) => atMs - lastMs[user[row]!]! >= days * DAY_MS;
  const isBehind = (row: number) => 2 * totalPoints[row]! < medianPoints;
  const counts = { inactiveCount: 0, behindCount: 0, count: 0 };
  const top = new Top(most);
  await inSlices(0, count, (from, to) => {
    for (let row = from; row < to; row++) {
      if (isInactive(row)) counts.inactiveCount += 1;
      if (isBehind(row)) counts.behindCount += 1;
      if (!isInactive(row) && !isBehind(row)) continue;
      counts.count += 1;
      const sinceMs = atMs - lastMs[user[row]!]!;
      top.offer(Number.isFinite(sinceMs) ? sinceMs : NEVER - totalPoints[row]!, row);
    }
  });
  const describe = (row: number): NeedsAttention => {
    const last = lastMs[user[row]!]!;
    const hasActed = Number.isFinite(last);
    return {
      user: user[row]!,
      lastMs: hasActed ? last : undefined,
      inactiveDays: hasActed ? Math.floor((atMs - last) / DAY_MS) : undefined,
      ...{ isInactive: isInactive(row), isBehind: isBehind(row) },
      ...{ totalPoints: totalPoints[row]!, participationScore: participationScore[row]! },
    };
  };
  return { people: count, medianPoints, ...counts, users: top.ranked().map(({ place }) => describe(place)) };
}
