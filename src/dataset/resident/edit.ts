/**
 * Edits of columns: the rows that stay are copied from the column before, in runs, and new rows
 * come between them or in place of others.
 */
import { inSlices, slice } from '../../system/time-slice.ts';
import { firstPlace } from '../first-place.ts';
import { growable } from '../shared-arrays.ts';
import { TextColumn } from '../text-column.ts';
import type { Sections } from './sections.ts';

interface Run {
  /** Whether the rows are those of the new column, or of the one before. */
  readonly isNew: boolean;
  readonly from: number;
  readonly to: number;
}

/** The rows of a column after an edit. No run is empty. */
export type Edit = readonly Run[];

/** Rows `[from, to)` that new ones replace. */
interface ReplacedRows {
  readonly from: number;
  readonly to: number;
  /** The number of new rows. */
  readonly count: number;
}

/** Rows copied between two checks of the clock; texts are longer. */
const ROWS_AT_ONCE = 16_384;
const TEXTS_AT_ONCE = 1_024;
/** Binary searches between two checks of the clock. */
const SEARCHES_AT_ONCE = 512;
/** The rows that could be copied in the time that a run takes by itself. */
const ROWS_PER_RUN = 16;

/**
 * Replaces rows of a column of `length` rows. The replaced ranges ascend and do not overlap; the
 * new rows are in the order of the ranges.
 */
function editOf(length: number, replaced: Iterable<ReplacedRows>): Edit {
  const runs: Run[] = [];
  let kept = 0;
  let come = 0;
  for (const { from, to, count } of replaced) {
    addRun(runs, { isNew: false, from: kept, to: from });
    addRun(runs, { isNew: true, from: come, to: come + count });
    kept = to;
    come += count;
  }
  addRun(runs, { isNew: false, from: kept, to: length });
  return runs;
}

/** Extends the last run if the rows follow it. */
function addRun(runs: Run[], run: Run): void {
  if (run.from === run.to) return;
  const last = runs.at(-1);
  if (last?.isNew === run.isNew && last.to === run.from) runs[runs.length - 1] = { ...last, to: run.to };
  else runs.push(run);
}

/** Inserts one row before each of the given rows, which ascend. */
export function insertionsBefore(length: number, places: Int32Array): Edit {
  return editOf(
    length,
    Array.from(places, (place) => ({ from: place, to: place, count: 1 })),
  );
}

/** Replaces single rows, and appends those that do not exist. `rows` ascend. */
export function replacementsOf(length: number, rows: Int32Array): Edit {
  return editOf(
    length,
    Array.from(rows, (row) => ({ from: Math.min(row, length), to: Math.min(row + 1, length), count: 1 })),
  );
}

/** Keeps sections of rows, one after the other, and leaves out all others. In time slices. */
export async function keptRows({ starts, ends }: Sections): Promise<Edit> {
  const runs: Run[] = [];
  await inSlices(0, starts.length, (from, to) => {
    for (let at = from; at < to; at++) addRun(runs, { isNew: false, from: starts[at]!, to: ends[at]! });
  });
  return runs;
}

export function lengthAfter(edit: Edit): number {
  return edit.reduce((sum, { from, to }) => sum + to - from, 0);
}

/**
 * Calls `work` for all runs, or parts of them, in time slices. `at`: the row after the edit at
 * which the run begins.
 */
export async function inRuns(
  edit: Edit,
  work: (run: Run, at: number) => void,
  rowsAtOnce = ROWS_AT_ONCE,
): Promise<void> {
  let at = 0;
  let done = 0;
  for (const { isNew, from, to } of edit) {
    for (let start = from; start < to; start += rowsAtOnce) {
      const end = Math.min(start + rowsAtOnce, to);
      work({ isNew, from: start, to: end }, at);
      at += end - start;
      done += end - start + ROWS_PER_RUN;
      if (done < rowsAtOnce) continue;
      done = 0;
      if (slice.isOver()) await slice.pass();
    }
  }
}

interface Column<Self> {
  subarray(from: number, to: number): Self;
  set(values: Self, at: number): void;
}

/** Fills `target`, which has room for the rows after the edit. */
export async function editColumn<C extends Column<C>>(
  edit: Edit,
  before: C,
  added: C,
  target: C,
): Promise<C> {
  await inRuns(edit, ({ isNew, from, to }, at) => {
    target.set((isNew ? added : before).subarray(from, to), at);
  });
  return target;
}

/** The result is in shared memory. */
export async function editTexts(edit: Edit, before: TextColumn, added: TextColumn): Promise<TextColumn> {
  const parts: TextColumn[] = [];
  const add = ({ isNew, from, to }: Run) => parts.push((isNew ? added : before).range(from, to));
  await inRuns(edit, add, TEXTS_AT_ONCE);
  return await TextColumn.join(parts, before.isJson);
}

/**
 * The offsets of groups of rows after `edit`, which keeps some of the groups. Later versions can
 * extend them.
 */
export async function keptOffsets(edit: Edit, before: Int32Array): Promise<Int32Array> {
  const offsets = growable(Int32Array, lengthAfter(edit) + 1);
  await inRuns(edit, ({ from, to }, at) => {
    const shift = offsets[at]! - before[from]!;
    for (let group = from; group < to; group++) offsets[at + group - from + 1] = before[group + 1]! + shift;
  });
  return offsets;
}

/** The edit that keeps the rows of the groups that `edit` keeps. */
export function keptRowsOf(edit: Edit, offsets: Int32Array): Edit {
  const rows = edit.map(({ isNew, from, to }) => ({ isNew, from: offsets[from]!, to: offsets[to]! }));
  return rows.filter(({ from, to }) => from < to);
}

/**
 * The places before which new values belong in an order, behind equal ones. `isAfter`: whether what
 * is at a place comes after the new value `added`; the new ones are in order.
 */
export async function placesIn(
  length: number,
  count: number,
  isAfter: (place: number, added: number) => boolean,
): Promise<Int32Array> {
  const places = new Int32Array(count);
  const find = (from: number, to: number) => {
    for (let added = from; added < to; added++) {
      places[added] = firstPlace(places[added - 1] ?? 0, length, (place) => isAfter(place, added));
    }
  };
  await inSlices(0, count, find, SEARCHES_AT_ONCE);
  return places;
}
