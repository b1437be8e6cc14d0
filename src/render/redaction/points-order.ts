/** Points totals in the order of pseudonymous user ids within each board (decisions 63, 93). */
import { joinDoubles, joinIntegers } from '../../dataset/columns.ts';
import type { Standings } from '../../dataset/query.ts';
import { inSlices, slice } from '../../system/time-slice.ts';
import type { PseudonymOrder } from './pseudonym-order.ts';

type Order = Pick<PseudonymOrder, 'byPlace' | 'places'>;

/** The rows of a board, if they are not more than this, are sorted at once. */
const SORTED_AT_ONCE = 2_048;
/** Rows of a batch. */
const ROWS_AT_ONCE = 2_048;

/**
 * The rows of whole boards in order, in batches of at most 2,048, of which none is empty. `source`
 * holds the boards one after the other. The rows of one board are in memory at a time.
 */
export async function* inPseudonymOrder(
  source: AsyncIterable<Standings>,
  order: Order,
): AsyncGenerator<Standings, void> {
  /** Rows of boards, of which the last can be incomplete. */
  let held: Standings[] = [];
  for await (const batch of source) {
    const last = startOfLastBoard(batch);
    const isContinued = last === 0 && held.at(-1)?.board.at(-1) === batch.board[0];
    if (!isContinued) {
      yield* ordered([...held, partOfPoints(batch, 0, last)], order);
      held = [];
    }
    held.push(partOfPoints(batch, last, batch.count));
  }
  yield* ordered(held, order);
}

function startOfLastBoard({ count, board }: Standings): number {
  let row = count - 1;
  while (row > 0 && board[row - 1] === board[count - 1]) row -= 1;
  return row;
}

async function* ordered(parts: readonly Standings[], order: Order): AsyncGenerator<Standings, void> {
  const standings = await joined(parts);
  const rows = new Int32Array(standings.count);
  if (slice.isOver()) await slice.pass();
  for (let from = 0; from < rows.length; ) {
    const to = endOfBoard(standings, from);
    await sortRows(standings, rows.subarray(from, to), from, order);
    from = to;
  }
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
    yield await gathered(standings, rows.subarray(from, from + ROWS_AT_ONCE));
  }
}

/** The points totals of one board, on which each user has one record. */
export async function boardInOrder(standings: Standings, order: Order): Promise<Standings> {
  const rows = new Int32Array(standings.count);
  await sortRows(standings, rows, 0, order);
  return await gathered(standings, rows);
}

function endOfBoard({ count, board }: Standings, from: number): number {
  let row = from + 1;
  while (row < count && board[row] === board[from]) row += 1;
  return row;
}

/** Sets `rows` to the rows of a board, which begin at `first`, in order. */
async function sortRows(
  { user }: Standings,
  rows: Int32Array,
  first: number,
  { byPlace, places }: Order,
): Promise<void> {
  if (rows.length <= SORTED_AT_ONCE) {
    for (let at = 0; at < rows.length; at++) rows[at] = first + at;
    rows.sort((one, other) => places[user[one]!]! - places[user[other]!]!);
    return;
  }
  // By position in the order: 1 + row of the user, 0 for none.
  const ofPlaces = new Int32Array(byPlace.length);
  await inSlices(first, first + rows.length, (from, to) => {
    for (let row = from; row < to; row++) ofPlaces[places[user[row]!]!] = row + 1;
  });
  let at = 0;
  await inSlices(0, ofPlaces.length, (from, to) => {
    for (let place = from; place < to; place++) {
      if (ofPlaces[place]! > 0) rows[at++] = ofPlaces[place]! - 1;
    }
  });
}

async function gathered(
  { user, board, totalPoints, participationScore }: Standings,
  rows: Int32Array,
): Promise<Standings> {
  const count = rows.length;
  const target = {
    count,
    user: new Int32Array(count),
    board: new Int32Array(count),
    totalPoints: new Float64Array(count),
    participationScore: new Float64Array(count),
  };
  await inSlices(0, count, (from, to) => {
    for (let at = from; at < to; at++) {
      const row = rows[at]!;
      target.user[at] = user[row]!;
      target.board[at] = board[row]!;
      target.totalPoints[at] = totalPoints[row]!;
      target.participationScore[at] = participationScore[row]!;
    }
  });
  return target;
}

async function joined(parts: readonly Standings[]): Promise<Standings> {
  return {
    count: parts.reduce((sum, { count }) => sum + count, 0),
    user: await joinIntegers(parts.map(({ user }) => user)),
    board: await joinIntegers(parts.map(({ board }) => board)),
    totalPoints: await joinDoubles(parts.map(({ totalPoints }) => totalPoints)),
    participationScore: await joinDoubles(parts.map(({ participationScore }) => participationScore)),
  };
}

/** Views of the columns, which keep all of them in memory. */
export function partOfPoints(standings: Standings, from: number, to: number): Standings {
  return {
    count: to - from,
    user: standings.user.subarray(from, to),
    board: standings.board.subarray(from, to),
    totalPoints: standings.totalPoints.subarray(from, to),
    participationScore: standings.participationScore.subarray(from, to),
  };
}
