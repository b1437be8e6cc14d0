/** Points totals in memory: the rows of each board, and how to find the one of a user. */
import { inSlices } from '../../system/time-slice.ts';
import { firstPlace } from '../first-place.ts';
import type { PairRows } from '../tables.ts';
import type { IdIndex } from './id-index.ts';
import { indexRows, orderRows, type RowIndex } from './row-index.ts';
import { type Sections, sectionOf } from './sections.ts';

export interface PointsIds {
  readonly users: IdIndex;
  readonly boards: IdIndex;
}

export interface OrderedTotals {
  readonly ids: PointsIds;
  /** The board and the user of each row. */
  readonly pairs: PairRows;
  /** By board, each ascending by user id. Rows outside all sections are out of date. */
  readonly sections: Sections;
  /**
   * The boards on which each user has a points total, ascending by id. Rows would change whenever a
   * board gets new ones; these change only with the first points total of a user on a board.
   */
  readonly boardsByUser: RowIndex;
}

export async function indexBoards(
  { user, board }: PairRows,
  { users, boards }: PointsIds,
): Promise<RowIndex> {
  const index = await indexRows(user, users.count);
  const { rows } = index;
  await inSlices(0, rows.length, (from, to) => {
    for (let place = from; place < to; place++) rows[place] = board[rows[place]!]!;
  });
  // The rows are in the order of the boards, so the boards of each user are, too.
  if (!(await boards.isInOrder())) await orderRows(index, (one) => boards.ranks[one]!);
  return index;
}

/** The row of the points total of a pair, or the one at which it would be inserted. */
export function findTotal(
  { pairs, sections, ids }: Omit<OrderedTotals, 'boardsByUser'>,
  board: number,
  user: number,
): { readonly row: number; readonly isFound: boolean } {
  const { from, to } = sectionOf(sections, board);
  const { ranks } = ids.users;
  const rank = ranks[user]!;
  const row = firstPlace(from, to, (place) => ranks[pairs.user[place]!]! >= rank);
  return { row, isFound: row < to && pairs.user[row] === user };
}
