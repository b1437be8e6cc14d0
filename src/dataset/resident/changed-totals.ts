/**
 * The points totals of boards on which some have changed: those of the earlier version in memory,
 * with the changed ones in their place.
 */
import { inSlices, slice } from '../../system/time-slice.ts';
import type { ChangedPairs } from '../changes.ts';
import { joinIntegers } from '../columns.ts';
import type { EarningRows, StandingRows } from '../tables.ts';
import { gather, standingsOf, type TotalsHeld } from './points-totals.ts';
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
  readonly earnings: readonly EarningRows[];
}

export async function totalsOfBoards(held: TotalsHeld, pairs: ChangedPairs): Promise<TotalsOfBoards> {
  const rows = await rowsKept(held, pairs);
  return {
    standings: [await keptTotals(held, rows), changedTotals(pairs)],
    earnings: [await keptEarnings(held, rows), pairs.earnings],
  };
}

/** The rows of the boards, other than those of the pairs. */
async function rowsKept(
  { standings: { user }, sections }: TotalsHeld,
  pairs: ChangedPairs,
): Promise<Int32Array> {
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

async function keptTotals({ standings, imported }: TotalsHeld, rows: Int32Array): Promise<StandingRows> {
  const kept = { ...standingsOf(rows.length), imported: new Uint8Array(rows.length) };
  await inSlices(0, rows.length, (from, to) => {
    gather(standings, rows, kept, from, to);
    for (let place = from; place < to; place++) kept.imported[place] = imported[rows[place]!]!;
  });
  return kept;
}

function changedTotals(pairs: ChangedPairs): StandingRows {
  const isTotal = (_: number, place: number) => pairs.hasTotal[place] === 1;
  const user = pairs.user.filter(isTotal);
  return {
    count: user.length,
    user,
    board: pairs.board.filter(isTotal),
    totalPoints: pairs.totalPoints.filter(isTotal),
    participationScore: pairs.participationScore.filter(isTotal),
    imported: pairs.imported.filter(isTotal),
  };
}

/** The points of each entry are the difference of two running sums. */
async function keptEarnings({ standings, earnings }: TotalsHeld, rows: Int32Array): Promise<EarningRows> {
  const { offsets, timestampMs, sums } = earnings.parts;
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
      kept.board[at] = standings.board[row]!;
      kept.user[at] = standings.user[row]!;
      kept.timestampMs[at] = timestampMs[entry]!;
      kept.points[at] = sums[entry]! - (entry === offsets[row]! ? 0 : sums[entry - 1]!);
    }
  };
  await inSlices(0, rows.length, (from, to) => {
    for (let place = from; place < to; place++) copy(rows[place]!);
  });
  return kept;
}
