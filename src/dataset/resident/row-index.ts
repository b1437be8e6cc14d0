/**
 * Maps each value of a column to its rows. Built by counting, in two passes, with at most eight
 * bytes per row.
 */
import { inSlices } from '../../system/time-slice.ts';
import { sharedIntegers } from '../shared-arrays.ts';

export interface RowIndex {
  /** The rows of value `v` are at `[offsets[v], offsets[v + 1])` of `rows`. */
  readonly offsets: Int32Array;
  readonly rows: Int32Array;
}

/**
 * The positions `[from, to)` of the rows of a value; empty for a value that the index does not
 * have.
 */
export function placesOf(offsets: Int32Array, value: number): { readonly from: number; readonly to: number } {
  const to = offsets[value + 1];
  return to === undefined ? { from: 0, to: 0 } : { from: offsets[value] ?? to, to };
}

/**
 * Indexes a column of values from 0 to below `values`. Consecutive rows are `stride` elements
 * apart. The rows of a value keep their order.
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

/** Lists with more rows than this are sorted in time slices. */
const SORTED_AT_ONCE = 4_096;
/** Values between two checks of the clock. */
const VALUES_AT_ONCE = 64;

type KeyOf = (row: number) => number;

/** Sorts the rows of each value by ascending keys; mostly they are in that order already. */
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

/** A merge sort: short sections are sorted, then merged in pairs. */
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

/** Merges two adjacent sorted sections of up to `width` rows; the first starts at `from`. */
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
