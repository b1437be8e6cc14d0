/**
 * Many events in memory, row by row. The fields of one event lie in one cache line, or in two if
 * the array is not aligned to rows; in columns they would lie in seven, each in a different page.
 * Gathering scattered events that have not been read lately is therefore more than twice as fast.
 * The typed arrays are over shared memory, so a different thread can read them without a copy.
 */
import type { Dataset } from './dataset.ts';
import type { EventBatch } from './query.ts';
import { IN_ORDER, insertRows, type RowRuns } from './row-runs.ts';
import { extend, growableMemory } from './shared-arrays.ts';

/** A row takes 32 bytes. The instant comes first, so that it is aligned. */
export const ROW_WORDS = 8;
const ROW_DOUBLES = ROW_WORDS / 2;
const ROW_HALVES = ROW_WORDS * 2;
const ROW_BYTES = ROW_WORDS * Int32Array.BYTES_PER_ELEMENT;

/** Offsets of the fields in a row, in 32-bit words unless the name says otherwise. */
const TIMESTAMP_DOUBLE = 0;
const SEQUENCE_LOW = 2;
const SEQUENCE_HIGH_HALF = 6;
const KIND_HALF = 7;
const ACTOR = 4;
const OWNER = 5;
const BOARD = 6;
const PIN = 7;

const LOW_RANGE = 2 ** 32;
const HALF_RANGE = 2 ** 16;

/** Whether rows have room for the kinds and sequences of a version: 16 and 48 bits. */
export function fitsRows({ kinds, lastSequence }: Pick<Dataset, 'kinds' | 'lastSequence'>): boolean {
  return kinds.length <= HALF_RANGE && lastSequence < HALF_RANGE * LOW_RANGE;
}

/**
 * `words`, `halves` and `doubles` are views of the same memory. `runs`: the order of the timeline.
 */
export interface EventRows {
  readonly count: number;
  readonly runs: RowRuns;
  readonly words: Int32Array;
  readonly halves: Uint16Array;
  readonly doubles: Float64Array;
}

/** In order; all fields are 0. */
export function makeEventRows(count: number): EventRows {
  return eventRowsOf(new Int32Array(growableMemory(count * ROW_BYTES), 0, count * ROW_WORDS));
}

/** Rows that `words` holds completely. */
export function eventRowsOf(words: Int32Array, runs = IN_ORDER): EventRows {
  const { buffer, byteOffset, length } = words;
  const halves = new Uint16Array(buffer, byteOffset, length * 2);
  const doubles = new Float64Array(buffer, byteOffset, length / 2);
  return { count: length / ROW_WORDS, runs, words, halves, doubles };
}

/**
 * Adds a batch behind the rows and returns all of them; `rows` does not change. `places`: for each
 * event the position before which it belongs, ascending. In the same memory if that has room.
 */
export async function addEventRows(
  rows: EventRows,
  batch: EventBatch,
  places: Int32Array,
): Promise<EventRows> {
  if (batch.count === 0) return rows;
  const words = await extend(rows.words, (rows.count + batch.count) * ROW_WORDS);
  const extended = eventRowsOf(words, insertRows(rows.runs, rows.count, places));
  setEventRows(extended, batch, rows.count);
  return extended;
}

/**
 * Writes a batch to the rows from `at` on; there must be enough rows. Of a larger sequence or kind
 * than fits (`fitsRows`), only the lowest bits are kept.
 */
export function setEventRows({ words, halves, doubles }: EventRows, batch: EventBatch, at: number): void {
  for (let row = 0; row < batch.count; row++) {
    const word = (at + row) * ROW_WORDS;
    const half = (at + row) * ROW_HALVES;
    doubles[(at + row) * ROW_DOUBLES + TIMESTAMP_DOUBLE] = batch.timestampMs[row]!;
    words[word + SEQUENCE_LOW] = batch.sequence[row]!;
    halves[half + SEQUENCE_HIGH_HALF] = batch.sequence[row]! / LOW_RANGE;
    halves[half + KIND_HALF] = batch.kind[row]!;
    words[word + ACTOR] = batch.actor[row]!;
    words[word + OWNER] = batch.owner[row]!;
    words[word + BOARD] = batch.board[row]!;
    words[word + PIN] = batch.pin[row]!;
  }
}

// The fields of one row: `timestampOf` in Unix milliseconds, the others as in `EventBatch`.

export function timestampOf({ doubles }: EventRows, row: number): number {
  return doubles[row * ROW_DOUBLES + TIMESTAMP_DOUBLE]!;
}

export function sequenceOf({ words, halves }: EventRows, row: number): number {
  const low = words[row * ROW_WORDS + SEQUENCE_LOW]! >>> 0;
  return halves[row * ROW_HALVES + SEQUENCE_HIGH_HALF]! * LOW_RANGE + low;
}

export function kindOf({ halves }: EventRows, row: number): number {
  return halves[row * ROW_HALVES + KIND_HALF]!;
}

export function actorOf({ words }: EventRows, row: number): number {
  return words[row * ROW_WORDS + ACTOR]!;
}

export function ownerOf({ words }: EventRows, row: number): number {
  return words[row * ROW_WORDS + OWNER]!;
}

export function boardOf({ words }: EventRows, row: number): number {
  return words[row * ROW_WORDS + BOARD]!;
}

export function pinOf({ words }: EventRows, row: number): number {
  return words[row * ROW_WORDS + PIN]!;
}

/**
 * Events whose columns need not be copied: the values of event `i` are at `i * stride`, but its
 * kind at `i * kindStride` and its instant at `i * instantStride`. Their other fields are as in
 * `EventBatch`.
 */
export interface EventView extends Pick<EventBatch, 'count' | 'actor' | 'board' | 'pin' | 'timestampMs'> {
  readonly stride: number;
  readonly kindStride: number;
  readonly kind: Int32Array | Uint16Array;
  readonly instantStride: number;
}

/** Rows `[from, to)` where they are. */
export function viewRows({ words, halves, doubles }: EventRows, from: number, to: number): EventView {
  const column = (field: number) => words.subarray(from * ROW_WORDS + field, to * ROW_WORDS);
  return {
    count: to - from,
    ...{ stride: ROW_WORDS, actor: column(ACTOR), board: column(BOARD), pin: column(PIN) },
    kindStride: ROW_HALVES,
    kind: halves.subarray(from * ROW_HALVES + KIND_HALF, to * ROW_HALVES),
    instantStride: ROW_DOUBLES,
    timestampMs: doubles.subarray(from * ROW_DOUBLES + TIMESTAMP_DOUBLE, to * ROW_DOUBLES),
  };
}

export function viewOfBatch(batch: EventBatch): EventView {
  return { ...batch, stride: 1, kindStride: 1, instantStride: 1 };
}

/** One field of all rows; the value of row `r` is at `r * ROW_WORDS`. */
export function fieldOf({ words }: EventRows, field: 'actor' | 'board'): Int32Array {
  return words.subarray(field === 'actor' ? ACTOR : BOARD);
}

type Writable<Batch> = { -readonly [Field in keyof Batch]: Batch[Field] };

/** Bytes of one event in the columns of doubles, and in all columns. */
const IN_DOUBLES_BYTES = 2 * 8;
const COLUMN_BYTES = IN_DOUBLES_BYTES + 5 * 4;

/** Rows that are loaded into the CPU cache before they are read. */
export const TOUCHED_ROWS = 128;

/** Columns into which rows are gathered. */
export class BatchMemory {
  readonly #batch: Writable<EventBatch>;
  /** Depends on the rows that were touched, so that touching is not optimized away. */
  touched = 0;

  /** `capacity` is in rows. */
  constructor(capacity: number) {
    // The columns share one allocation, because for few rows several would take longer than the
    // gathering. Those of doubles come first, so that they are aligned.
    const memory = new ArrayBuffer(capacity * COLUMN_BYTES);
    const doubles = (place: number) => new Float64Array(memory, place * capacity * 8, capacity);
    const words = (place: number) =>
      new Int32Array(memory, (IN_DOUBLES_BYTES + place * 4) * capacity, capacity);
    this.#batch = {
      count: 0,
      ...{ timestampMs: doubles(0), sequence: doubles(1) },
      ...{ kind: words(0), actor: words(1), owner: words(2), board: words(3), pin: words(4) },
    };
  }

  get count(): number {
    return this.#batch.count;
  }

  /** The rows added since the last `clear`. */
  get batch(): EventBatch {
    return this.isFull ? this.#batch : firstOf(this.#batch);
  }

  /** The number of rows that can still be added. */
  get room(): number {
    return this.#batch.kind.length - this.#batch.count;
  }

  get isFull(): boolean {
    return this.room === 0;
  }

  clear(): this {
    this.#batch.count = 0;
    return this;
  }

  /**
   * Loads the rows `rows[from]` to before `rows[to]` into the CPU cache. These reads overlap
   * because nothing waits for their results, while `add` waits for each of its reads.
   */
  touch({ words }: EventRows, rows: Int32Array, from: number, to: number): void {
    let touched = 0;
    for (let at = from; at < to; at++) touched |= words[rows[at]! * ROW_WORDS]!;
    this.touched = touched;
  }

  /** Adds a row; there must be room for it. */
  add(rows: EventRows, row: number): void {
    const batch = this.#batch;
    const at = batch.count++;
    batch.timestampMs[at] = timestampOf(rows, row);
    batch.sequence[at] = sequenceOf(rows, row);
    batch.kind[at] = kindOf(rows, row);
    batch.actor[at] = actorOf(rows, row);
    batch.owner[at] = ownerOf(rows, row);
    batch.board[at] = boardOf(rows, row);
    batch.pin[at] = pinOf(rows, row);
  }

  /**
   * Adds the rows `rows[from]` to before `rows[to]`; there must be room for them. The loop is
   * separate because V8 compiles one with conditions to slower code.
   */
  addListed(events: EventRows, rows: Int32Array, from: number, to: number): void {
    for (let start = from; start < to; start += TOUCHED_ROWS) {
      const end = Math.min(start + TOUCHED_ROWS, to);
      this.touch(events, rows, start, end);
      for (let at = start; at < end; at++) this.add(events, rows[at]!);
    }
  }

  /**
   * Adds rows `[from, to)`; there must be room for them. Twice as fast as adding them one by one.
   */
  addRange({ words, halves, doubles }: EventRows, from: number, to: number): void {
    const { count, timestampMs, sequence, kind, actor, owner, board, pin } = this.#batch;
    let [double, word, half] = [from * ROW_DOUBLES, from * ROW_WORDS, from * ROW_HALVES];
    for (let at = count; at < count + to - from; at++) {
      timestampMs[at] = doubles[double + TIMESTAMP_DOUBLE]!;
      sequence[at] = halves[half + SEQUENCE_HIGH_HALF]! * LOW_RANGE + (words[word + SEQUENCE_LOW]! >>> 0);
      kind[at] = halves[half + KIND_HALF]!;
      actor[at] = words[word + ACTOR]!;
      owner[at] = words[word + OWNER]!;
      board[at] = words[word + BOARD]!;
      pin[at] = words[word + PIN]!;
      double += ROW_DOUBLES;
      word += ROW_WORDS;
      half += ROW_HALVES;
    }
    this.#batch.count += to - from;
  }
}

function firstOf({ count, ...columns }: EventBatch): EventBatch {
  return {
    count,
    timestampMs: columns.timestampMs.subarray(0, count),
    sequence: columns.sequence.subarray(0, count),
    kind: columns.kind.subarray(0, count),
    actor: columns.actor.subarray(0, count),
    owner: columns.owner.subarray(0, count),
    board: columns.board.subarray(0, count),
    pin: columns.pin.subarray(0, count),
  };
}
