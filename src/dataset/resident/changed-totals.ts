/**
 * The points totals of boards on which some have changed: those of the earlier version in memory,
 * with the changed ones in their place.
 */
import { inSlices, slice } from '../../system/time-slice.ts';
import type { ChangedPairs } from '../changes.ts';
import { joinIntegers } from '../columns.ts';
import type { EarningRows, StandingRows } from '../tables.ts';
import { readTotals, standingsOf, type TotalsHeld } from './points-totals.ts';
import { sectionOf } from './sections.ts';

/** Pairs of the same board are at `[from, to)`. */
interface BoardRun {
  readonly board: number;
  readonly from: number;
  readonly to: number;
}

export function* runsOfBoards({ board }: ChangedPairs): Generator<BoardRun, void> {
  for (let from = 0, to = 0; from < board.length; from = to) {
    while (to < board.length && board[to] === board[from]) to += 1;
    yield { board: board[from]!, from, to };
  }
}

/** In no order. */
interface TotalsOfBoards {
  readonly standings: readonly StandingRows[];
  readonly earnings: Iterable<EarningRows>;
}

/** Points totals whose awards are a batch. */
const TOTALS_AT_ONCE = 512;

export async function totalsOfBoards(held: TotalsHeld, pairs: ChangedPairs): Promise<TotalsOfBoards> {
  const rows = await rowsKept(held, pairs);
  return {
    standings: [await keptTotals(held, rows), await changedTotals(pairs)],
    earnings: earningsOf(held, rows, pairs),
  };
}

/** The rows of the boards, other than those of the pairs. */
async function rowsKept({ pairs: { user }, sections }: TotalsHeld, pairs: ChangedPairs): Promise<Int32Array> {
  const parts: Int32Array[] = [];
  for (const { board, from, to } of runsOfBoards(pairs)) {
    if (slice.isOver()) await slice.pass();
    const changed = new Set(pairs.user.subarray(from, to));
    const section = sectionOf(sections, board);
    const rows = new Int32Array(section.to - section.from);
    let count = 0;
    await inSlices(section.from, section.to, (first, end) => {
      for (let row = first; row < end; row++) if (!changed.has(user[row]!)) rows[count++] = row;
    });
    parts.push(rows.subarray(0, count));
  }
  return await joinIntegers(parts);
}

async function keptTotals(held: TotalsHeld, rows: Int32Array): Promise<StandingRows> {
  const imported = new Uint8Array(rows.length);
  await inSlices(0, rows.length, (from, to) => {
    for (let place = from; place < to; place++) imported[place] = held.imported[rows[place]!]!;
  });
  return { ...(await readTotals(held, rows)), imported };
}

async function changedTotals(pairs: ChangedPairs): Promise<StandingRows> {
  const places = new Int32Array(pairs.board.length);
  let count = 0;
  await inSlices(0, places.length, (from, to) => {
    for (let place = from; place < to; place++) if (pairs.hasTotal[place] === 1) places[count++] = place;
  });
  const totals = { ...standingsOf(count), imported: new Uint8Array(count) };
  await inSlices(0, count, (from, to) => {
    for (let row = from; row < to; row++) {
      const place = places[row]!;
      totals.user[row] = pairs.user[place]!;
      totals.board[row] = pairs.board[place]!;
      totals.totalPoints[row] = pairs.totalPoints[place]!;
      totals.participationScore[row] = pairs.participationScore[place]!;
      totals.imported[row] = pairs.imported[place]!;
    }
  });
  return totals;
}

function* earningsOf(held: TotalsHeld, rows: Int32Array, pairs: ChangedPairs): Generator<EarningRows, void> {
  for (let from = 0; from < rows.length; from += TOTALS_AT_ONCE)
    yield keptEarnings(held, rows.subarray(from, from + TOTALS_AT_ONCE));
  yield* pairs.earnings;
}

/**
 * The points of each entry are the difference of two running sums. The entries of imported points
 * totals are among them; they are left out when the totals are put in order.
 */
function keptEarnings({ pairs, earnings }: TotalsHeld, rows: Int32Array): EarningRows {
  const { offsets, instantOrScore, sums } = earnings.parts;
  const count = rows.reduce((sum, row) => sum + offsets[row + 1]! - offsets[row]!, 0);
  const kept = {
    board: new Int32Array(count),
    user: new Int32Array(count),
    timestampMs: new Float64Array(count),
    points: new Float64Array(count),
  };
  let at = 0;
  const copy = (row: number) => {
    for (let entry = offsets[row]!; entry < offsets[row + 1]!; entry++, at++) {
      kept.board[at] = pairs.board[row]!;
      kept.user[at] = pairs.user[row]!;
      kept.timestampMs[at] = instantOrScore[entry]!;
      kept.points[at] = sums[entry]! - (entry === offsets[row]! ? 0 : sums[entry - 1]!);
    }
  };
  for (const row of rows) copy(row);
  return kept;
}
