/**
 * The timeline of a version in memory: every event as a row of columns, in the order of decision 4, and the rows that
 * answer a question. Columns and selections are plain typed arrays over shared memory, so that another thread can
 * read them without a copy.
 */
import type { EventBatch, EventQuery } from './query.ts';

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
  /** Only events with at most this sequence. */
  readonly upToSequence?: number | undefined;
}

export interface Timeline {
  /** The whole timeline as one batch. */
  readonly columns: EventBatch;
  /** The rows that answer a query. Costs little: nothing is read but the ends of the range. */
  select(query: Omit<EventQuery, 'limit'>): Selection;
}

const BATCH_EVENTS = 2048;

/** Whether every position of the selection is part of it. */
export function isWhole({ boards, people, pinsOnly = false, upToSequence }: Selection): boolean {
  return boards === undefined && people === undefined && !pinsOnly && upToSequence === undefined;
}

/** The events of a selection, in order, at most `limit`; batches of at most 2,048, none empty. */
export function* readSelection(
  columns: EventBatch,
  selection: Selection,
  limit = Number.POSITIVE_INFINITY,
): Generator<EventBatch, void> {
  let left = limit;
  const { from, to, rows } = selection;
  const size = Math.min(BATCH_EVENTS, to - from, limit);
  let batch = new Int32Array(size);
  let count = 0;
  const whole = isWhole(selection);
  if (whole && rows === undefined) {
    for (let at = from; at < to && left > 0; at += BATCH_EVENTS) {
      const taken = Math.min(BATCH_EVENTS, to - at, left);
      left -= taken;
      yield sliceColumns(columns, at, at + taken);
    }
    return;
  }
  for (let at = from; at < to && left > 0; at++) {
    const row = rows === undefined ? at : rows[at]!;
    if (!whole && !isSelected(columns, selection, row)) continue;
    batch[count++] = row;
    left -= 1;
    if (count < size) continue;
    yield gatherColumns(columns, batch);
    batch = new Int32Array(size);
    count = 0;
  }
  if (count > 0) yield gatherColumns(columns, batch.subarray(0, count));
}

function isSelected(columns: EventBatch, selection: Selection, row: number): boolean {
  const { boards, people, pinsOnly = false, upToSequence = Number.POSITIVE_INFINITY } = selection;
  return (
    (boards === undefined || boards[columns.board[row]!] === 1) &&
    (people === undefined || (people[columns.actor[row]!] === 1 && people[columns.owner[row]!] === 1)) &&
    !(pinsOnly && columns.pin[row]! < 0) &&
    columns.sequence[row]! <= upToSequence
  );
}

function sliceColumns(columns: EventBatch, from: number, to: number): EventBatch {
  return {
    count: to - from,
    kind: columns.kind.subarray(from, to),
    actor: columns.actor.subarray(from, to),
    owner: columns.owner.subarray(from, to),
    board: columns.board.subarray(from, to),
    pin: columns.pin.subarray(from, to),
    timestampMs: columns.timestampMs.subarray(from, to),
    sequence: columns.sequence.subarray(from, to),
  };
}

function gatherColumns(columns: EventBatch, rows: Int32Array): EventBatch {
  const count = rows.length;
  // One piece of memory for all: for few rows, allocating would take longer than gathering.
  const memory = new ArrayBuffer(
    count * (2 * Float64Array.BYTES_PER_ELEMENT + 5 * Int32Array.BYTES_PER_ELEMENT),
  );
  const doubles = (place: number) => new Float64Array(memory, place * count * 8, count);
  const integers = (place: number) => new Int32Array(memory, (4 + place) * count * 4, count);
  return {
    count,
    timestampMs: gather(columns.timestampMs, rows, doubles(0)),
    sequence: gather(columns.sequence, rows, doubles(1)),
    kind: gather(columns.kind, rows, integers(0)),
    actor: gather(columns.actor, rows, integers(1)),
    owner: gather(columns.owner, rows, integers(2)),
    board: gather(columns.board, rows, integers(3)),
    pin: gather(columns.pin, rows, integers(4)),
  };
}

function gather<A extends Int32Array | Float64Array>(column: A, rows: Int32Array, into: A): A {
  for (let at = 0; at < rows.length; at++) into[at] = column[rows[at]!]!;
  return into;
}
