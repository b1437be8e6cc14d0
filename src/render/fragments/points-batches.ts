/** Reads the first rows of a table of points (decision 93). */
import type { Dataset } from '../../dataset/dataset.ts';
import type { PointsPosition, PointsQuery, Standings } from '../../dataset/query.ts';
import type { Admit } from '../text/rendered-body.ts';
import { HELD_BYTES, heldBytesOf } from './admission.ts';
import type { FragmentCache } from './fragment-cache.ts';

/** A response of at most this number of rows is held as columns; a larger one is measured first. */
const HELD_POINTS = 2048;

export interface PointsPage {
  readonly batches: readonly Standings[];
  /** The number of rows in all batches. */
  readonly rows: number;
  /** Position of the last row of a page; absent if none follows it. */
  readonly next: PointsPosition | undefined;
  /** Whether the page is the whole response. */
  readonly isHeld: boolean;
}

/**
 * Reads the page that a query requests, or its first rows if it has no limit. Calls `admit` if the
 * response is large, before anything for which many requests wait.
 */
export async function readPointsPage(
  dataset: Dataset,
  query: PointsQuery,
  fragments: Pick<FragmentCache, 'records'>,
  admit?: Admit,
): Promise<PointsPage> {
  const most = query.limit ?? HELD_POINTS;
  const read: Standings[] = [];
  // Read one more than requested to find out whether more follow.
  for await (const batch of dataset.points({ ...query, limit: most + 1 })) read.push(batch);
  const found = read.reduce((sum, { count }) => sum + count, 0);
  const rows = Math.min(found, most);
  const isHeld = query.limit !== undefined || found <= most;
  if (!isHeld || rows > HELD_POINTS) await admit?.(isHeld ? HELD_BYTES : heldBytesOfPoints(dataset));
  const batches = found > most ? withoutLast(read) : read;
  const hasNext = query.limit !== undefined && found > most;
  return { batches, rows, next: hasNext ? await lastPosition(batches, fragments) : undefined, isHeld };
}

/** Columns of a user on a board, and their copy in order. */
const BYTES_OF_ROW = 2 * 24;

/**
 * Approximate memory of a response that is not held as columns, in bytes. If ids are redacted, the
 * rows of one board are held (decision 63).
 */
export function heldBytesOfPoints(dataset: Dataset): number {
  const heldRows = dataset.userOrder === undefined ? 0 : dataset.counts.users;
  return heldBytesOf(dataset) + heldRows * BYTES_OF_ROW;
}

function withoutLast(batches: readonly Standings[]): readonly Standings[] {
  const last = batches.at(-1)!;
  const others = batches.slice(0, -1);
  return last.count === 1 ? others : [...others, { ...last, count: last.count - 1 }];
}

async function lastPosition(
  batches: readonly Standings[],
  fragments: Pick<FragmentCache, 'records'>,
): Promise<PointsPosition> {
  const [users, boards] = await Promise.all([fragments.records('users'), fragments.records('boards')]);
  const { count, user, board } = batches.at(-1)!;
  return { boardId: boards.id[board[count - 1]!]!, userId: users.id[user[count - 1]!]! };
}
