/** From a value to the rows of a column that have it, made by counting: two passes, eight bytes a row at most. */
import { inSlices } from '../../system/time-slice.ts';
import { sharedIntegers } from './shared-arrays.ts';

export interface RowIndex {
  /** The rows of value `v` lie at `[offsets[v], offsets[v + 1])` of `rows`. */
  readonly offsets: Int32Array;
  readonly rows: Int32Array;
}

/** Where the rows of a value lie; nowhere for a value that the index does not have. */
export function placesOf(offsets: Int32Array, value: number): { readonly from: number; readonly to: number } {
  const to = offsets[value + 1];
  return to === undefined ? { from: 0, to: 0 } : { from: offsets[value] ?? to, to };
}

/**
 * Indexes a column of values from 0 to below `values`, in which one row lies `stride` places after the other. The rows
 * of a value keep their order.
 */
export async function indexRows(column: Int32Array, values: number, stride = 1): Promise<RowIndex> {
  const length = Math.ceil(column.length / stride);
  const offsets = sharedIntegers(values + 1);
  await inSlices(0, length, (from, to) => {
    for (let row = from; row < to; row++) offsets[column[row * stride]! + 1]! += 1;
  });
  for (let value = 0; value < values; value++) offsets[value + 1]! += offsets[value]!;
  const next = offsets.slice();
  const rows = sharedIntegers(length);
  await inSlices(0, length, (from, to) => {
    for (let row = from; row < to; row++) {
      const value = column[row * stride]!;
      rows[next[value]!] = row;
      next[value]! += 1;
    }
  });
  return { offsets, rows };
}

/** More rows than these are sorted in slices of time. */
const SORTED_AT_ONCE = 4_096;
/** Values between two looks at the clock. */
const VALUES_AT_ONCE = 64;

type KeyOf = (row: number) => number;

/** Puts the rows of each value in the ascending order of their keys, in which they mostly are already. */
export async function orderRows({ offsets, rows }: RowIndex, keyOf: KeyOf): Promise<void> {
  const large: Int32Array[] = [];
  const order = (from: number, to: number) => {
    for (let value = from; value < to; value++) {
      const some = rows.subarray(offsets[value], offsets[value + 1]);
      if (areInOrder(some, keyOf)) continue;
      if (some.length > SORTED_AT_ONCE) large.push(some);
      else some.sort((one, other) => keyOf(one) - keyOf(other));
    }
  };
  await inSlices(0, offsets.length - 1, order, VALUES_AT_ONCE);
  for (const some of large) await sortInSlices(some, keyOf);
}

function areInOrder(rows: Int32Array, keyOf: KeyOf): boolean {
  for (let place = 1; place < rows.length; place++) {
    if (keyOf(rows[place - 1]!) > keyOf(rows[place]!)) return false;
  }
  return true;
}

/** A merge sort: short runs are sorted, then merged in pairs. */
async function sortInSlices(rows: Int32Array, keyOf: KeyOf): Promise<void> {
  const { length } = rows;
  const sort = (from: number, to: number) =>
    rows.subarray(from, to).sort((one, other) => keyOf(one) - keyOf(other));
  await inSlices(0, length, sort, SORTED_AT_ONCE);
  let source = rows;
  let target: Int32Array = new Int32Array(length);
  for (let width = SORTED_AT_ONCE; width < length; width *= 2) {
    for (let from = 0; from < length; from += 2 * width) {
      await mergeRuns(source, target, { from, width }, keyOf);
    }
    [source, target] = [target, source];
  }
  if (source !== rows) rows.set(source);
}

/** Merges two adjacent runs of up to `width` rows; the first begins at `from`. */
async function mergeRuns(
  source: Int32Array,
  target: Int32Array,
  { from, width }: { readonly from: number; readonly width: number },
  keyOf: KeyOf,
): Promise<void> {
  const middle = Math.min(from + width, source.length);
  const end = Math.min(middle + width, source.length);
  let left = from;
  let right = middle;
  const merge = (first: number, last: number) => {
    for (let place = first; place < last; place++) {
      const isLeft = right === end || (left < middle && keyOf(source[left]!) <= keyOf(source[right]!));
      target[place] = source[isLeft ? left++ : right++]!;
    }
  };
  await inSlices(from, end, merge);
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
