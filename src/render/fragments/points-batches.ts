/** Reads points totals of several boards, board by board (decision 93). */
import type { Dataset } from '../../dataset/dataset.ts';
import { firstPlace } from '../../dataset/first-place.ts';
import type { PointsPosition, PointsQuery, Standings } from '../../dataset/query.ts';
import type { FragmentCache } from './fragment-cache.ts';

/** Ids by index, as the reader sees them. */
export interface SeenIds {
  readonly users: BigInt64Array;
  readonly boards: BigInt64Array;
}

/** Reads them from the records of a cache. */
export async function seenIds(fragments: Pick<FragmentCache, 'records'>): Promise<SeenIds> {
  const [users, boards] = await Promise.all([fragments.records('users'), fragments.records('boards')]);
  return { users: users.id, boards: boards.id };
}

export interface PointsPage {
  readonly batches: readonly Standings[];
  /** Position of the last points total of the page; absent if none follows it. */
  readonly next: PointsPosition | undefined;
}

/**
 * The points totals of a query, ascending by board id, then user id, in batches of one board each,
 * or in one batch for a user. `limit` is not supported. `ids` is called only for a query that
 * starts after a position.
 */
export async function* readPoints(
  dataset: Dataset,
  query: Omit<PointsQuery, 'limit'>,
  ids: () => Promise<SeenIds>,
): AsyncGenerator<Standings, void> {
  const { scope, range, after } = query;
  const seen = after && { after, ...(await ids()) };
  for (const of of await subjectsOf(dataset, query)) {
    if (seen !== undefined && 'board' in of && seen.boards[of.board]! < seen.after.boardId) continue;
    const standings = await dataset.standings({ scope, range, of });
    const from = seen === undefined ? 0 : firstAfter(standings, seen);
    const wanted = 'user' in of ? ofBoard(standings, query.board, from) : { from, to: standings.count };
    if (wanted.from < wanted.to) yield partOf(standings, wanted.from, wanted.to);
  }
}

/** The first points totals of a query, at most `limit`. */
export async function readPointsPage(
  dataset: Dataset,
  query: PointsQuery,
  limit: number,
  ids: () => Promise<SeenIds>,
): Promise<PointsPage> {
  const batches: Standings[] = [];
  let room = limit;
  for await (const batch of readPoints(dataset, query, ids)) {
    if (room === 0) return { batches, next: positionOf(batches.at(-1)!, await ids()) };
    const kept = partOf(batch, 0, Math.min(batch.count, room));
    batches.push(kept);
    room -= kept.count;
    if (kept.count < batch.count) return { batches, next: positionOf(kept, await ids()) };
  }
  return { batches, next: undefined };
}

async function subjectsOf(
  dataset: Dataset,
  { scope, board, user }: PointsQuery,
): Promise<readonly ({ readonly board: number } | { readonly user: number })[]> {
  if (user !== undefined) return [{ user }];
  if (board !== undefined) return [{ board }];
  return Array.from(await dataset.list('boards', { scope, range: {} }), (one) => ({ board: one }));
}

interface AfterPosition extends SeenIds {
  readonly after: PointsPosition;
}

/** The first row after the position. All rows of a batch are of one board, or of one user. */
function firstAfter({ count, user, board }: Standings, { after, users, boards }: AfterPosition): number {
  return firstPlace(0, count, (row) => {
    const boardId = boards[board[row]!]!;
    return boardId > after.boardId || (boardId === after.boardId && users[user[row]!]! > after.userId);
  });
}

/** The rows of a user from `from` on, or the one on the board that is asked for. */
function ofBoard({ count, board: boards }: Standings, board: number | undefined, from: number) {
  if (board === undefined) return { from, to: count };
  const row = boards.indexOf(board, from);
  return row < 0 ? { from, to: from } : { from: row, to: row + 1 };
}

function partOf(standings: Standings, from: number, to: number): Standings {
  if (from === 0 && to === standings.count) return standings;
  return {
    count: to - from,
    user: standings.user.subarray(from, to),
    board: standings.board.subarray(from, to),
    totalPoints: standings.totalPoints.subarray(from, to),
    participationScore: standings.participationScore.subarray(from, to),
  };
}

function positionOf({ count, user, board }: Standings, { users, boards }: SeenIds): PointsPosition {
  return { boardId: boards[board[count - 1]!]!, userId: users[user[count - 1]!]! };
}
