/**
 * The order of a timeline over rows that stay where they are in memory. Rows that are added later
 * lie behind all others, even if they belong between earlier ones, so that nothing has to move.
 */
import { sharedIntegers } from './shared-arrays.ts';

/**
 * The rows in their order, as runs of rows that also lie one after the other. Run `r` begins at
 * position `starts[r]` with row `rows[r]`. There is at least one run, the first begins at 0, and
 * only a timeline without rows has an empty one.
 */
export interface RowRuns {
  readonly starts: Int32Array;
  readonly rows: Int32Array;
}

/** Positions `[from, to)`; the row at a position is the position plus `shift`. */
export interface RowRange {
  readonly from: number;
  readonly to: number;
  readonly shift: number;
}

/** Rows that lie in their order. */
export const IN_ORDER: RowRuns = { starts: sharedIntegers(1), rows: sharedIntegers(1) };

export function areInOrder({ starts }: RowRuns): boolean {
  return starts.length === 1;
}

export function rowAt(runs: RowRuns, position: number): number {
  if (areInOrder(runs)) return position;
  const run = runOf(runs, position);
  return runs.rows[run]! + position - runs.starts[run]!;
}

/** The positions `[from, to)` in ranges of rows that lie one after the other; none is empty. */
export function* rangesOf(runs: RowRuns, from: number, to: number): Generator<RowRange, void> {
  const { starts, rows } = runs;
  for (let run = runOf(runs, from), at = from; at < to; run++) {
    const end = Math.min(to, starts[run + 1] ?? to);
    yield { from: at, to: end, shift: rows[run]! - starts[run]! };
    at = end;
  }
}

/** The last run that begins at the position or before it. */
function runOf({ starts }: RowRuns, position: number): number {
  let low = 0;
  let high = starts.length;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (starts[middle]! > position) high = middle;
    else low = middle;
  }
  return low;
}

/**
 * The order after rows were added behind the earlier `count` ones. `places`: for each of them the
 * position of the earlier row before which it comes, `count` behind all; ascending.
 */
export function insertRows(before: RowRuns, count: number, places: Int32Array): RowRuns {
  const runs = new RunWriter(before.starts.length + 2 * places.length);
  let kept = 0;
  for (let added = 0; added < places.length; added++) {
    const place = places[added]!;
    for (const { from, to, shift } of rangesOf(before, kept, place)) runs.add(from + shift, to - from);
    kept = place;
    runs.add(count + added, 1);
  }
  for (const { from, to, shift } of rangesOf(before, kept, count)) runs.add(from + shift, to - from);
  return runs.end();
}

class RunWriter {
  readonly #starts: Int32Array;
  readonly #rows: Int32Array;
  #runs = 0;
  #position = 0;

  constructor(most: number) {
    this.#starts = new Int32Array(most);
    this.#rows = new Int32Array(most);
  }

  /** Adds `count` rows from `row` on. */
  add(row: number, count: number): void {
    const last = this.#runs - 1;
    const follows = last >= 0 && this.#rows[last]! + this.#position - this.#starts[last]! === row;
    if (!follows) {
      this.#starts[this.#runs] = this.#position;
      this.#rows[this.#runs++] = row;
    }
    this.#position += count;
  }

  end(): RowRuns {
    return { starts: shared(this.#starts, this.#runs), rows: shared(this.#rows, this.#runs) };
  }
}

function shared(values: Int32Array, count: number): Int32Array {
  const copy = sharedIntegers(count);
  copy.set(values.subarray(0, count));
  return copy;
}
