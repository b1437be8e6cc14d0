/** Finds points totals in the order of a table: by board id, then user id (decision 93). */
import { slice } from '../../system/time-slice.ts';
import { firstPlace } from '../first-place.ts';
import type { PointsQuery, PointsStart } from '../query.ts';
import { findTotal, type OrderedTotals } from './ordered-totals.ts';
import { rowsOf } from './row-index.ts';
import type { View } from './scope-mask.ts';
import { sectionOf } from './sections.ts';

/** Rows of a batch. */
const ROWS_AT_ONCE = 2_048;
/** Rows, and boards without rows, between two checks of the clock. */
const LOOKED_AT_ONCE = 4_096;

type RowsAsked = Omit<PointsQuery, 'scope' | 'range'>;

/** The visible rows of a query, in batches of which none is empty. */
export async function* findPointsRows(
  totals: OrderedTotals,
  asked: RowsAsked,
  view: View,
): AsyncGenerator<Int32Array, void> {
  const isSeen = seenIn(totals, asked, view);
  const most = asked.limit ?? totals.pairs.user.length;
  const rows = new Int32Array(Math.min(ROWS_AT_ONCE, most));
  let looked = 0;
  let found = 0;
  let count = 0;
  for (const row of rowsInOrder(totals, asked)) {
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
  { pairs }: OrderedTotals,
  { board }: RowsAsked,
  { boards, people }: View,
): (row: number) => boolean {
  return (row) =>
    (boards === undefined || boards[pairs.board[row]!] === 1) &&
    (people === undefined || people[pairs.user[row]!] === 1) &&
    (board === undefined || pairs.board[row] === board);
}

/** The rows after a place. A board without such rows is one `undefined`, to check the clock. */
function* rowsInOrder(totals: OrderedTotals, asked: RowsAsked): Generator<number | undefined, void> {
  const { user } = asked;
  const isAfter = asked.after === undefined ? () => true : positionedAfter(totals, asked.after);
  const boards = user === undefined ? [] : rowsOf(totals.boardsByUser, user);
  const sections = user === undefined ? sectionsOf(totals, asked) : [{ from: 0, to: boards.length }];
  const rowAt = (place: number) => (user === undefined ? place : findTotal(totals, boards[place]!, user).row);
  for (const { from, to } of sections) {
    const first = firstPlace(from, to, (place) => isAfter(rowAt(place)));
    if (first === to) yield undefined;
    for (let place = first; place < to; place++) yield rowAt(place);
  }
}

/** The rows of the board, or of all boards from the one of `after` on. */
function* sectionsOf(
  { sections, ids: { boards } }: OrderedTotals,
  { board, after }: RowsAsked,
): Generator<{ readonly from: number; readonly to: number }, void> {
  if (board !== undefined) yield sectionOf(sections, board);
  else {
    const first = after === undefined ? 0 : boards.placeFrom(after.boardId);
    for (let place = first; place < boards.count; place++) yield sectionOf(sections, boards.byId[place]!);
  }
}

function positionedAfter(
  { pairs, ids: { users, boards } }: OrderedTotals,
  { boardId, userId }: PointsStart,
): (row: number) => boolean {
  const nextBoard = boards.placeAfter(boardId);
  const nextUser = userId === undefined ? 0 : users.placeAfter(userId);
  const board = boards.find(boardId);
  return (row) =>
    pairs.board[row] === board
      ? users.ranks[pairs.user[row]!]! >= nextUser
      : boards.ranks[pairs.board[row]!]! >= nextBoard;
}
