/** From a value to the rows of a column that have it, made by counting: two passes, eight bytes a row at most. */

import { sharedIntegers } from './shared-arrays.ts';
import { inWindows } from './windows.ts';

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
  await inWindows(0, length, (from, to) => {
    for (let row = from; row < to; row++) offsets[column[row * stride]! + 1]! += 1;
  });
  for (let value = 0; value < values; value++) offsets[value + 1]! += offsets[value]!;
  const next = offsets.slice();
  const rows = sharedIntegers(length);
  await inWindows(0, length, (from, to) => {
    for (let row = from; row < to; row++) {
      const value = column[row * stride]!;
      rows[next[value]!] = row;
      next[value]! += 1;
    }
  });
  return { offsets, rows };
}

/** Puts the rows of each value in the ascending order of their keys, in which they mostly are already. */
export async function orderRows({ offsets, rows }: RowIndex, keyOf: (row: number) => number): Promise<void> {
  await inWindows(0, offsets.length - 1, (from, to) => {
    for (let value = from; value < to; value++) {
      const end = offsets[value + 1]!;
      for (let place = offsets[value]! + 1; place < end; place++) {
        if (keyOf(rows[place - 1]!) <= keyOf(rows[place]!)) continue;
        rows.subarray(offsets[value], end).sort((one, other) => keyOf(one) - keyOf(other));
        break;
      }
    }
  });
}
