/** What each standing earned when, kept as running sums, so that any range costs two searches. */
import { setImmediate } from 'node:timers/promises';
import type { Standings, TimeRange } from '../query.ts';
import type { EarningRows } from '../tables.ts';
import { collectRuns, joinColumn } from './columns.ts';

/** Runs of rows between which others go ahead. */
const PARTS_AT_A_TIME = 16;

/**
 * Reads earnings, which come pair by pair, ascending by instant. Every pair has a row in `standings`, which lie board
 * by board as `offsets` tell.
 */
export async function readEarnings(
  runs: AsyncIterable<EarningRows>,
  standings: Standings,
  offsets: Int32Array,
): Promise<Earnings> {
  const parts = await collectRuns(runs);
  const doubles = (length: number) => new Float64Array(length);
  const timestampMs = joinColumn(
    parts.map((part) => part.timestampMs),
    doubles,
  );
  const sums = joinColumn(
    parts.map((part) => part.points),
    doubles,
  );
  const from = new Int32Array(standings.count);
  const to = new Int32Array(standings.count);
  let board = -1;
  let rowOfUser = new Map<number, number>();
  let row = -1;
  let at = 0;
  for (const [number, part] of parts.entries()) {
    if (number % PARTS_AT_A_TIME === PARTS_AT_A_TIME - 1) await setImmediate();
    for (const [place, user] of part.user.entries()) {
      if (part.board[place] !== board) {
        board = part.board[place]!;
        rowOfUser = rowsOfUsers(standings, offsets, board);
        row = -1;
      }
      if (row < 0 || standings.user[row] !== user) {
        row = rowOfUser.get(user) ?? -1;
        if (row < 0) throw new Error('a version holds earnings of a user who is not on the board');
        from[row] = at;
      } else {
        sums[at]! += sums[at - 1]!;
      }
      at += 1;
      to[row] = at;
    }
  }
  return new Earnings(timestampMs, sums, from, to);
}

function rowsOfUsers(standings: Standings, offsets: Int32Array, board: number): Map<number, number> {
  const rows = new Map<number, number>();
  for (let row = offsets[board]!; row < offsets[board + 1]!; row++) rows.set(standings.user[row]!, row);
  return rows;
}

export class Earnings {
  readonly #timestampMs: Float64Array;
  /** Of everything that the same standing earned up to here. */
  readonly #sums: Float64Array;
  /** Those of standing `s` lie at `[from[s], to[s])`. */
  readonly #from: Int32Array;
  readonly #to: Int32Array;

  constructor(timestampMs: Float64Array, sums: Float64Array, from: Int32Array, to: Int32Array) {
    this.#timestampMs = timestampMs;
    this.#sums = sums;
    this.#from = from;
    this.#to = to;
  }

  /** What a standing earned inside the range; 0 for nothing. */
  sum(standing: number, { startMs, endMs }: TimeRange): number {
    return (
      this.#sumBefore(standing, endMs) - (startMs === undefined ? 0 : this.#sumBefore(standing, startMs))
    );
  }

  #sumBefore(standing: number, instantMs = Number.POSITIVE_INFINITY): number {
    const first = this.#from[standing]!;
    let low = first;
    let high = this.#to[standing]!;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#timestampMs[middle]! < instantMs) low = middle + 1;
      else high = middle;
    }
    return low === first ? 0 : this.#sums[low - 1]!;
  }
}
