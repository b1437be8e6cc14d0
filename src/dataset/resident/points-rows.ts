/** Finds points totals in the order of a table: by board id, then user id (decision 93). */
import { slice } from '../../system/time-slice.ts';
import { firstPlace } from '../first-place.ts';
import type { PointsQuery, PointsStart } from '../query.ts';
import type { IdIndex } from './id-index.ts';
import type { OrderedTotals } from './points-totals.ts';
import { placesOf } from './row-index.ts';
import type { View } from './scope-mask.ts';

/** Rows of a batch. */
const ROWS_AT_ONCE = 2_048;
/** Rows, and boards without rows, between two checks of the clock. */
const LOOKED_AT_ONCE = 4_096;

export interface PointsIds {
  readonly users: IdIndex;
  readonly boards: IdIndex;
}

type RowsAsked = Omit<PointsQuery, 'scope' | 'range'>;

/** The visible rows of a query, in batches of which none is empty. */
export async function* findPointsRows(
  totals: OrderedTotals,
  ids: PointsIds,
  asked: RowsAsked,
  view: View,
): AsyncGenerator<Int32Array, void> {
  const isSeen = seenIn(totals, asked, view);
  const most = asked.limit ?? totals.standings.count;
  const rows = new Int32Array(Math.min(ROWS_AT_ONCE, most));
  let looked = 0;
  let found = 0;
  let count = 0;
  for (const row of rowsInOrder(totals, ids, asked)) {
    looked += 1;
    if (looked % LOOKED_AT_ONCE === 0 && slice.isOver()) await slice.pass();
    if (row === undefined || !isSeen(row)) continue;
    rows[count++] = row;
    found += 1;
    if (found === most) break;
    if (count < rows.length) continue;
    yield rows.slice();
    count = 0;
  }
  if (count > 0) yield rows.slice(0, count);
}

function seenIn(
  { standings }: OrderedTotals,
  { board }: RowsAsked,
  { boards, people }: View,
): (row: number) => boolean {
  return (row) =>
    (boards === undefined || boards[standings.board[row]!] === 1) &&
    (people === undefined || people[standings.user[row]!] === 1) &&
    (board === undefined || standings.board[row] === board);
}

/** The rows after a place. A board without such rows is one `undefined`, to check the clock. */
function* rowsInOrder(
  totals: OrderedTotals,
  ids: PointsIds,
  asked: RowsAsked,
): Generator<number | undefined, void> {
  const isAfter = asked.after === undefined ? () => true : positionedAfter(totals, ids, asked.after);
  const rows = asked.user === undefined ? undefined : totals.byUser.rows;
  for (const { from, to } of sectionsOf(totals, ids, asked)) {
    const first = firstPlace(from, to, (place) => isAfter(rows?.[place] ?? place));
    if (first === to) yield undefined;
    for (let place = first; place < to; place++) yield rows?.[place] ?? place;
  }
}

/** Positions of rows, or of rows in the index of users for the rows of one user. */
function* sectionsOf(
  { offsets, byUser }: OrderedTotals,
  { boards }: PointsIds,
  { board, user, after }: RowsAsked,
): Generator<{ readonly from: number; readonly to: number }, void> {
  if (user !== undefined) yield placesOf(byUser.offsets, user);
  else if (board !== undefined) yield placesOf(offsets, board);
  else {
    const first = after === undefined ? 0 : boards.placeFrom(after.boardId);
    for (let place = first; place < boards.count; place++) yield placesOf(offsets, boards.byId[place]!);
  }
}

function positionedAfter(
  { standings }: OrderedTotals,
  { users, boards }: PointsIds,
  { boardId, userId }: PointsStart,
): (row: number) => boolean {
  const nextBoard = boards.placeAfter(boardId);
  const nextUser = userId === undefined ? 0 : users.placeAfter(userId);
  const board = boards.find(boardId);
  return (row) =>
    standings.board[row] === board
      ? users.ranks[standings.user[row]!]! >= nextUser
      : boards.ranks[standings.board[row]!]! >= nextBoard;
}
