/**
 * The timeline of a version in memory: every event as a row, in the order of decision 4, and the rows that answer a
 * question. A selection is plain typed arrays over shared memory, as the rows are, so that another thread can read it.
 */
import { slice } from '../time-slice.ts';
import {
  actorOf,
  BatchMemory,
  boardOf,
  type EventRows,
  kindOf,
  ownerOf,
  pinOf,
  sequenceOf,
} from './event-rows.ts';
import type { EventBatch, EventQuery, Revisions } from './query.ts';

/** Rows of a timeline, in its order. */
export interface Selection {
  /** Positions `[from, to)`: rows themselves, or places in `rows`. */
  readonly from: number;
  readonly to: number;
  /** Rows in ascending order, those of one board or one actor; absent: a position is a row. */
  readonly rows?: Int32Array | undefined;
  /** By index, 1 for the boards and the people (actor and owner) that may be seen; absent: all (decision 12). */
  readonly boards?: Uint8Array | undefined;
  readonly people?: Uint8Array | undefined;
  /** Only events with a pin. */
  readonly pinsOnly?: boolean | undefined;
  /** By index, 1 for the kinds that are wanted; absent: all. */
  readonly kinds?: Uint8Array | undefined;
  /** Only events with at most this sequence. */
  readonly upToSequence?: number | undefined;
  /** Only what has changed since. */
  readonly since?: ChangedRows | undefined;
}

/** `Revisions`, with 1 for what is named by index. */
export interface ChangedRows {
  readonly sequence: number;
  readonly people: Uint8Array;
  readonly boards: Uint8Array;
  readonly pins: Uint8Array;
}

export interface Timeline {
  readonly events: EventRows;
  /** The rows that answer a query. Costs little: nothing is read but the ends of the range. */
  select(query: Omit<EventQuery, 'limit'>): Selection;
}

const BATCH_EVENTS = 2048;
/** Rows between two looks at the clock: rows outside the selection take time, too. */
const STREAMED_ROWS = 32_768;
const TOUCHED_ROWS = 128;

/** Whether every position of the selection is part of it. */
export function isWhole(selection: Selection): boolean {
  const { boards, people, kinds, pinsOnly = false, upToSequence, since } = selection;
  const all = boards === undefined && people === undefined && kinds === undefined;
  return all && !pinsOnly && upToSequence === undefined && since === undefined;
}

/**
 * The events of a selection, in order, at most `limit`; batches of at most 2,048, none empty. With `reused` a batch
 * stays as it is only until the next one is asked for.
 */
export function* readSelection(
  events: EventRows,
  selection: Selection,
  { limit = Number.POSITIVE_INFINITY, reused = false } = {},
): Generator<EventBatch, void> {
  const { from, to } = selection;
  const size = Math.min(BATCH_EVENTS, to - from, limit);
  let left = limit;
  let memory = new BatchMemory(Math.max(0, size));
  for (let at = from; at < to && left > 0; ) {
    const before = memory.count;
    at = fill(memory, events, selection, at, left);
    left -= memory.count - before;
    if (!memory.isFull) continue;
    yield memory.batch;
    if (at === to || left === 0) return;
    memory = reused ? memory.clear() : new BatchMemory(Math.min(size, to - at, left));
  }
  if (memory.count > 0) yield memory.batch;
}

/** As `readSelection`, in slices of time. */
export async function* streamSelection(
  events: EventRows,
  selection: Selection,
  { limit = Number.POSITIVE_INFINITY, reused = false } = {},
): AsyncGenerator<EventBatch, void> {
  let left = limit;
  for (let from = selection.from; from < selection.to && left > 0; from += STREAMED_ROWS) {
    if (slice.isOver()) await slice.pass();
    const to = Math.min(from + STREAMED_ROWS, selection.to);
    for (const batch of readSelection(events, { ...selection, from, to }, { limit: left, reused })) {
      left -= batch.count;
      yield batch;
      if (slice.isOver()) await slice.pass();
    }
  }
}

/** Adds events from position `at` on, at most `most` and as many as there is room for; answers the next position. */
function fill(
  memory: BatchMemory,
  events: EventRows,
  selection: Selection,
  at: number,
  most: number,
): number {
  const { from, to, rows } = selection;
  const whole = isWhole(selection);
  if (whole && rows === undefined) {
    const end = Math.min(to, at + Math.min(memory.room, most));
    memory.addRange(events, at, end);
    return end;
  }
  const full = memory.count + Math.min(memory.room, most);
  let next = at;
  for (; next < to && memory.count < full; next++) {
    if (rows !== undefined && (next - from) % TOUCHED_ROWS === 0) {
      memory.touch(events, rows, next, Math.min(next + TOUCHED_ROWS, to));
    }
    const row = rows === undefined ? next : rows[next]!;
    if (whole || isSelected(events, selection, row)) memory.add(events, row);
  }
  return next;
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

/** Whether the event in a row is new, or says something else than before. */
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

/** By index what `revisions` lists. */
export function changedRows({ sequence, people, boards, pins }: Revisions): ChangedRows {
  return { sequence, people: flagsOf(people), boards: flagsOf(boards), pins: flagsOf(pins) };
}

/** 1 at each of the indices. */
export function flagsOf(indices: readonly number[] | Int32Array): Uint8Array {
  let largest = 0;
  for (const index of indices) largest = Math.max(largest, index);
  const flags = new Uint8Array(1 + largest);
  for (const index of indices) flags[index] = 1;
  return flags;
}
