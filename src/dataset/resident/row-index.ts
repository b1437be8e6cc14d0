/**
 * Maps each value of a column to its rows. Built by counting, in two passes, with at most eight
 * bytes per row. The lists of a few values can be replaced without copying the others.
 */
import { inSlices, slice } from '../../system/time-slice.ts';
import { firstPlace } from '../first-place.ts';
import { copyTo, sharedIntegers } from '../shared-arrays.ts';

export interface RowIndex {
  /** The rows of value `v` are at `[offsets[v], offsets[v + 1])` of `rows`, unless replaced. */
  readonly offsets: Int32Array;
  readonly rows: Int32Array;
  readonly replaced: RowLists;
  /** The rows of all memory for short lists that was taken since all lists were copied together. */
  readonly taken: number;
}

/** Lists of rows by their value. */
type RowLists = ReadonlyMap<number, Int32Array>;

const NONE: RowLists = new Map();
const NO_ROWS = sharedIntegers(0);

/** The list of a value; empty for one that the index does not have. */
export function rowsOf({ offsets, rows, replaced }: RowIndex, value: number): Int32Array {
  const to = offsets[value + 1];
  return replaced.get(value) ?? (to === undefined ? NO_ROWS : rows.subarray(offsets[value], to));
}

/** The first row of a value. */
export function firstRowOf({ offsets, rows, replaced }: RowIndex, value: number): number | undefined {
  const list = replaced.get(value);
  if (list !== undefined) return list[0];
  const from = offsets[value] ?? 0;
  return from < (offsets[value + 1] ?? 0) ? rows[from] : undefined;
}

/** All rows, in lists of one or more values. */
export function* listsOf(index: RowIndex): Generator<Int32Array, void> {
  if (index.replaced.size === 0) yield index.rows;
  else {
    const values = valuesOf(index);
    for (let value = 0; value < values; value++) yield rowsOf(index, value);
  }
}

/** The number of values from 0 on, of which each can have a list. */
function valuesOf({ offsets, replaced }: RowIndex): number {
  let count = offsets.length - 1;
  for (const value of replaced.keys()) count = Math.max(count, value + 1);
  return count;
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
  return { offsets, rows, replaced: NONE, taken: 0 };
}

/** Lists between two checks of the clock. */
const VALUES_AT_ONCE = 64;

/**
 * All lists are copied together when short ones have taken as many rows as there are, and more than
 * a few: one that stays keeps the memory of others that were replaced again. And when there are so
 * many that the map of them takes milliseconds to copy.
 */
const FEW_TAKEN = 4_096;
const MOST_LISTS = 65_536;

/** The index with other lists, which are in `memory`, for some values; `before` does not change. */
export async function replaceLists(before: RowIndex, lists: RowLists, memory: ListMemory): Promise<RowIndex> {
  const replaced = new Map(before.replaced);
  for (const [value, rows] of lists) replaced.set(value, rows);
  const taken = before.taken + memory.taken;
  const index = { ...before, replaced, taken };
  const isWorthIt = taken >= Math.max(FEW_TAKEN, before.rows.length) || replaced.size > MOST_LISTS;
  return isWorthIt ? await flatten(index) : index;
}

async function flatten(index: RowIndex): Promise<RowIndex> {
  const values = valuesOf(index);
  const offsets = sharedIntegers(values + 1);
  await inSlices(0, values, (from, to) => {
    for (let value = from; value < to; value++)
      offsets[value + 1] = offsets[value]! + rowsOf(index, value).length;
  });
  const rows = sharedIntegers(offsets[values]!);
  const copy = (from: number, to: number) => {
    for (let value = from; value < to; value++) rows.set(rowsOf(index, value), offsets[value]);
  };
  await inSlices(0, values, copy, VALUES_AT_ONCE);
  return { offsets, rows, replaced: NONE, taken: 0 };
}

/** Whether an earlier row belongs behind an added one. */
type IsBehind = (row: number, added: number) => boolean;

/** Adds rows to the lists of their values: row `first + r` has `values[r]`. They are in order. */
export async function addRows(
  before: RowIndex,
  first: number,
  values: Int32Array,
  isBehind: IsBehind,
): Promise<RowIndex> {
  const rowsByValue = new Map<number, number[]>();
  for (const [at, value] of values.entries()) {
    const rows = rowsByValue.get(value);
    if (rows === undefined) rowsByValue.set(value, [first + at]);
    else rows.push(first + at);
  }
  const lists = new Map<number, Int32Array>();
  const memory = new ListMemory();
  for (const [value, rows] of rowsByValue) {
    if (slice.isOver()) await slice.pass();
    lists.set(value, await mergeRows(rowsOf(before, value), rows, isBehind, memory));
  }
  return await replaceLists(before, lists, memory);
}

/** Copies the earlier rows in sections between the added ones; both are in their order. */
export async function mergeRows(
  earlier: Int32Array,
  added: readonly number[],
  isBehind: IsBehind,
  memory: ListMemory,
): Promise<Int32Array> {
  const merged = memory.take(earlier.length + added.length);
  let [kept, at] = [0, 0];
  for (const row of added) {
    const place = firstPlace(kept, earlier.length, (one) => isBehind(earlier[one]!, row));
    await copyTo(merged, earlier.subarray(kept, place), at);
    at += place - kept;
    kept = place;
    merged[at++] = row;
  }
  await copyTo(merged, earlier.subarray(kept), at);
  return merged;
}

/** Longer lists have memory of their own; shorter ones share it, as each piece takes a mapping. */
const LONG_LIST = 8_192;
/** Rows in the first memory for short lists; each further one has twice as many, up to the most. */
const FEWEST_SHARED = 1_024;
const MOST_SHARED = 65_536;

/** Memory for the lists of one change. */
export class ListMemory {
  /** The rows of the memory that lists share. */
  taken = 0;
  #size = FEWEST_SHARED;
  #rows = NO_ROWS;

  take(length: number): Int32Array {
    if (length > LONG_LIST) return sharedIntegers(length);
    if (length > this.#rows.length) {
      this.#rows = sharedIntegers(Math.max(length, this.#size));
      this.taken += this.#rows.length;
      this.#size = Math.min(2 * this.#size, MOST_SHARED);
    }
    const taken = this.#rows.subarray(0, length);
    this.#rows = this.#rows.subarray(length);
    return taken;
  }
}

/** Lists with more rows than this are sorted in time slices. */
const SORTED_AT_ONCE = 4_096;

type KeyOf = (row: number) => number;

/** Sorts the rows of each value by ascending keys; mostly they are in that order already. */
export async function orderRows(
  { offsets, rows }: Pick<RowIndex, 'offsets' | 'rows'>,
  keyOf: KeyOf,
): Promise<void> {
  const large: Int32Array[] = [];
  const order = (from: number, to: number) => {
    for (let value = from; value < to; value++) {
      if (offsets[value + 1]! - offsets[value]! < 2) continue;
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
