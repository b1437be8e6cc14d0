/**
 * The timeline of a version in memory: every event as a row, in the order of decision 4, and the
 * rows that a query selects. Rows and selections are plain typed arrays over shared memory, so that
 * a different thread can read them.
 */
import { slice } from '../system/time-slice.ts';
import {
  actorOf,
  BatchMemory,
  boardOf,
  type EventRows,
  type EventView,
  kindOf,
  ownerOf,
  pinOf,
  sequenceOf,
  TOUCHED_ROWS,
  viewOfBatch,
  viewRows,
} from './event-rows.ts';
import type { EventBatch, EventQuery, Revisions } from './query.ts';
import { IN_ORDER, rangesOf } from './row-runs.ts';
import type { ChangedRows, FoundPositions, Selection } from './selection.ts';

/** Bits for the positions of a selection, none of them set yet. */
export function openFound({ from, to }: Selection): FoundPositions {
  return { first: from, bits: new Uint8Array(new SharedArrayBuffer((Math.max(0, to - from) + 7) >>> 3)) };
}

export interface Timeline {
  readonly events: EventRows;
  /** The rows that a query selects. Cheap: usually only rows at the ends of the range are read. */
  select(query: Omit<EventQuery, 'limit'>): Selection;
}

const BATCH_EVENTS = 2048;
/**
 * Rows between two checks of the clock. Rows outside the selection count too, because they take
 * time.
 */
const STREAMED_ROWS = 32_768;

/** Whether the selection has no conditions, so that every position is selected. */
export function isWhole(selection: Selection): boolean {
  const { boards, people, kinds, pinsOnly = false, upToSequence, since, found } = selection;
  const all = boards === undefined && people === undefined && kinds === undefined && found === undefined;
  return all && !pinsOnly && upToSequence === undefined && since === undefined;
}

/** Whether the selection is every event of the timeline. */
export function isEverything(events: EventRows, selection: Selection): boolean {
  const { rows, from, to } = selection;
  return rows === undefined && to - from === events.count && isWhole(selection);
}

export interface ReadOptions {
  readonly limit?: number | undefined;
  /** Whether a batch may be overwritten when the next one is requested. */
  readonly reused?: boolean;
  /** Where to mark the positions that were read. */
  readonly into?: FoundPositions | undefined;
}

/**
 * The events of a selection, in order, at most `limit`. In batches of at most 2,048, none empty.
 */
export function* readSelection(
  events: EventRows,
  selection: Selection,
  { limit = Number.POSITIVE_INFINITY, reused = false, into }: ReadOptions = {},
): Generator<EventBatch, void> {
  const { from, to } = selection;
  const size = Math.min(BATCH_EVENTS, to - from, limit);
  let left = limit;
  let memory = new BatchMemory(Math.max(0, size));
  for (let at = from; at < to && left > 0; ) {
    const before = memory.count;
    at = fill(memory, events, selection, at, left, into);
    left -= memory.count - before;
    if (!memory.isFull) continue;
    yield memory.batch;
    if (at === to || left === 0) return;
    memory = reused ? memory.clear() : new BatchMemory(Math.min(size, to - at, left));
  }
  if (memory.count > 0) yield memory.batch;
}

/**
 * As `readSelection`, without copying rows if all are selected. A view is valid until the next one.
 */
export function* viewSelection(events: EventRows, selection: Selection): Generator<EventView, void> {
  const { from, to, rows } = selection;
  if (!isWhole(selection) || rows !== undefined) {
    for (const batch of readSelection(events, selection, { reused: true })) yield viewOfBatch(batch);
    return;
  }
  for (let at = from; at < to; at += STREAMED_ROWS) {
    const end = Math.min(at + STREAMED_ROWS, to);
    for (const range of rangesOf(events.runs, at, end)) {
      yield viewRows(events, range.from + range.shift, range.to + range.shift);
    }
  }
}

/** As `viewSelection`, in time slices. */
export async function* streamViews(events: EventRows, selection: Selection): AsyncGenerator<EventView, void> {
  for (let from = selection.from; from < selection.to; from += STREAMED_ROWS) {
    if (slice.isOver()) await slice.pass();
    const to = Math.min(from + STREAMED_ROWS, selection.to);
    yield* viewSelection(events, { ...selection, from, to });
  }
}

/** As `readSelection`, in time slices. */
export async function* streamSelection(
  events: EventRows,
  selection: Selection,
  { limit = Number.POSITIVE_INFINITY, reused = false, into }: ReadOptions = {},
): AsyncGenerator<EventBatch, void> {
  let left = limit;
  for (let from = selection.from; from < selection.to && left > 0; from += STREAMED_ROWS) {
    if (slice.isOver()) await slice.pass();
    const to = Math.min(from + STREAMED_ROWS, selection.to);
    for (const batch of readSelection(events, { ...selection, from, to }, { limit: left, reused, into })) {
      left -= batch.count;
      yield batch;
      if (slice.isOver()) await slice.pass();
    }
  }
}

/**
 * Adds events from position `at` on, at most `most` and only while there is room. Returns the next
 * position.
 */
function fill(
  memory: BatchMemory,
  events: EventRows,
  selection: Selection,
  at: number,
  most: number,
  into: FoundPositions | undefined,
): number {
  const { from, to, rows, found } = selection;
  const whole = isWhole(selection);
  const room = Math.min(memory.room, most);
  if (whole && into === undefined) {
    const end = Math.min(to, at + room);
    if (rows === undefined) {
      for (const range of rangesOf(events.runs, at, end)) {
        memory.addRange(events, range.from + range.shift, range.to + range.shift);
      }
    } else {
      memory.addListed(events, rows, at, end);
    }
    return end;
  }
  const full = memory.count + room;
  let next = at;
  for (const range of rangesOf(rows === undefined ? events.runs : IN_ORDER, at, to)) {
    for (; next < range.to && memory.count < full; next++) {
      if (rows !== undefined && (next - from) % TOUCHED_ROWS === 0) {
        memory.touch(events, rows, next, Math.min(next + TOUCHED_ROWS, to));
      }
      const row = rows === undefined ? next + range.shift : rows[next]!;
      if (found !== undefined ? !isFound(found, next) : !(whole || isSelected(events, selection, row)))
        continue;
      memory.add(events, row);
      if (into !== undefined) into.bits[(next - into.first) >>> 3]! |= 1 << ((next - into.first) & 7);
    }
    if (memory.count === full) break;
  }
  return next;
}

function isFound({ first, bits }: FoundPositions, position: number): boolean {
  return ((bits[(position - first) >>> 3]! >>> ((position - first) & 7)) & 1) === 1;
}

function isSelected(events: EventRows, selection: Selection, row: number): boolean {
  const { boards, people, kinds, pinsOnly = false, since } = selection;
  const { upToSequence = Number.POSITIVE_INFINITY } = selection;
  return (
    (boards === undefined || boards[boardOf(events, row)] === 1) &&
    (people === undefined || (people[actorOf(events, row)] === 1 && people[ownerOf(events, row)] === 1)) &&
    (kinds === undefined || kinds[kindOf(events, row)] === 1) &&
    !(pinsOnly && pinOf(events, row) < 0) &&
    sequenceOf(events, row) <= upToSequence &&
    (since === undefined || rowHasChanged(events, since, row))
  );
}

/** Whether the event in a row is new or its content has changed. */
export function rowHasChanged(
  events: EventRows,
  { sequence, people, boards, pins }: ChangedRows,
  row: number,
): boolean {
  const pin = pinOf(events, row);
  return (
    sequenceOf(events, row) > sequence ||
    people[actorOf(events, row)] === 1 ||
    people[ownerOf(events, row)] === 1 ||
    boards[boardOf(events, row)] === 1 ||
    (pin >= 0 && pins[pin] === 1)
  );
}

/** Converts the indices of a change set to flags. */
export function changedRows({ sequence, people, boards, pins }: Revisions): ChangedRows {
  return { sequence, people: flagsOf(people), boards: flagsOf(boards), pins: flagsOf(pins) };
}

/** Returns flags with 1 at each of the indices. */
export function flagsOf(indices: readonly number[] | Int32Array): Uint8Array {
  let largest = 0;
  for (const index of indices) largest = Math.max(largest, index);
  const flags = new Uint8Array(1 + largest);
  for (const index of indices) flags[index] = 1;
  return flags;
}
