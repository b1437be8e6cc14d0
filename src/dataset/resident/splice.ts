/** Rows put into columns that stay in order: runs of what is there are copied as a whole. */
import { inSlices, slice } from '../../time-slice.ts';
import { indexRows, type RowIndex } from './row-index.ts';
import { sharedIntegers } from './shared-arrays.ts';

/** Where new rows go in a list. */
export interface Insertion {
  /** Rows of the list before. */
  readonly length: number;
  /** New row `i` goes before the old row `before[i]`, and behind everything where that is the length. Ascending. */
  readonly before: Int32Array;
}

export function lengthAfter({ length, before }: Insertion): number {
  return length + before.length;
}

interface Column<Self> {
  subarray(from: number, to: number): Self;
  set(values: Self, at: number): void;
}

/** Answers `target`, which has room for exactly that, with a column after the change. A row takes `stride` places. */
export async function spliceColumn<C extends Column<C>>(
  column: C,
  added: C,
  change: Insertion,
  target: C,
  stride = 1,
): Promise<C> {
  await inRuns(change, ({ isNew, from, to }, at) => {
    target.set((isNew ? added : column).subarray(from * stride, to * stride), at * stride);
  });
  return target;
}

interface Run {
  readonly isNew: boolean;
  readonly from: number;
  readonly to: number;
}

/** Rows copied between two looks at the clock. */
const ROWS_AT_ONCE = 16_384;
/** Rows that could be copied in the time that a run takes beside its rows. */
const ROWS_PER_RUN = 16;
/** Searches between two looks at the clock. */
export const SEARCHES_AT_ONCE = 1_024;

/** Processes the list after the change in slices of time. `at` is where the run begins then. */
async function inRuns(change: Insertion, work: (run: Run, at: number) => void): Promise<void> {
  let at = 0;
  let done = 0;
  for (const { isNew, from, to } of runsAfter(change)) {
    for (let start = from; start < to; start += ROWS_AT_ONCE) {
      const end = Math.min(start + ROWS_AT_ONCE, to);
      work({ isNew, from: start, to: end }, at);
      at += end - start;
      done += end - start + ROWS_PER_RUN;
      if (done < ROWS_AT_ONCE) continue;
      done = 0;
      if (slice.isOver()) await slice.pass();
    }
  }
}

/** The list after the change, in runs of old and of new rows; some are empty. */
function* runsAfter({ length, before }: Insertion): Generator<Run> {
  let from = 0;
  for (let row = 0; row <= before.length; row++) {
    const until = before[row] ?? length;
    yield { isNew: false, from, to: until };
    from = until;
    if (row < before.length) yield { isNew: true, from: row, to: row + 1 };
  }
}

/** The rows that were added, by their numbers after the change. */
export function addedRows({ before }: Insertion): Int32Array {
  return before.map((place, row) => place + row);
}

/** From the number of a row to its number after the change; absent where all keep theirs. */
export async function renumberRows(change: Insertion): Promise<Int32Array | undefined> {
  const { length, before } = change;
  if ((before[0] ?? length) === length) return undefined;
  const numbers = new Int32Array(length);
  await inRuns(change, ({ isNew, from, to }, at) => {
    if (!isNew) for (let row = from; row < to; row++) numbers[row] = at + row - from;
  });
  return numbers;
}

/** What is new in an index, in the order in which it goes there: rows by their numbers after the change. */
export interface IndexAdditions {
  readonly values: Int32Array;
  readonly rows: Int32Array;
  /** As `Insertion.before`, of the places in `RowIndex.rows`. */
  readonly before: Int32Array;
}

/**
 * Where rows go in an index; those of one value come in their order. `isBehind`: whether what lies at a place, and has
 * the same value, comes after the new row.
 */
export async function placeAdditions(
  { offsets, rows: held }: RowIndex,
  values: Int32Array,
  rows: Int32Array,
  isBehind: (added: number, place: number) => boolean,
): Promise<IndexAdditions> {
  const largest = values.reduce((one, other) => Math.max(one, other), -1);
  const { rows: order } = await indexRows(values, largest + 1);
  const before = new Int32Array(order.length);
  const find = (from: number, to: number) => {
    for (let at = from; at < to; at++) {
      const added = order[at]!;
      const value = values[added]!;
      before[at] = firstPlace(offsets[value] ?? held.length, offsets[value + 1] ?? held.length, (place) =>
        isBehind(added, place),
      );
    }
  };
  await inSlices(0, order.length, find, SEARCHES_AT_ONCE);
  return { values: order.map((added) => values[added]!), rows: order.map((added) => rows[added]!), before };
}

/** An index after rows were added, which `renumberRows` has numbered, and of as many values as it then has. */
export async function spliceIndex(
  index: RowIndex,
  values: number,
  numbers: Int32Array | undefined,
  added: IndexAdditions,
): Promise<RowIndex> {
  const places = { length: index.rows.length, before: added.before };
  const length = lengthAfter(places);
  // Rows that have their number already are told from the others by their sign.
  const come = numbers === undefined ? added.rows : added.rows.map((row) => ~row);
  const rows = await spliceColumn(index.rows, come, places, sharedIntegers(length));
  if (numbers !== undefined) {
    await inSlices(0, length, (from, to) => {
      for (let place = from; place < to; place++) {
        const row = rows[place]!;
        rows[place] = row < 0 ? ~row : numbers[row]!;
      }
    });
  }
  return { rows, offsets: offsetsAfter(index.offsets, values, places, added.values) };
}

/** `added`: the values of what is new, in its order. */
function offsetsAfter(
  offsets: Int32Array,
  values: number,
  { length }: Insertion,
  added: Int32Array,
): Int32Array {
  const after = sharedIntegers(values + 1);
  let come = 0;
  for (let value = 0; value < values; value++) {
    while (come < added.length && added[come]! <= value) come += 1;
    after[value + 1] = (offsets[value + 1] ?? length) + come;
  }
  return after;
}

/** The first place in `[low, high)` where the condition holds, which then holds at all that follow; else `high`. */
export function firstPlace(low: number, high: number, holds: (place: number) => boolean): number {
  let first = low;
  let end = high;
  while (first < end) {
    const middle = (first + end) >>> 1;
    if (holds(middle)) end = middle;
    else first = middle + 1;
  }
  return first;
}
