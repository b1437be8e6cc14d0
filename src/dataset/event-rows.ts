/**
 * Many events in memory, row by row. The fields of one event lie in one or two cache lines; in
 * columns they would lie in seven, each in a different page. Gathering scattered events that have
 * not been read lately is therefore more than twice as fast. The typed arrays are over shared
 * memory, so a different thread can read them without a copy.
 */
import type { EventBatch } from './query.ts';
import { IN_ORDER, insertRows, type RowRuns } from './row-runs.ts';
import { extend, growableMemory } from './shared-arrays.ts';

/**
 * A row takes 40 bytes. The 64-bit fields come first, so that they are aligned; one word is unused.
 */
export const ROW_WORDS = 10;
const ROW_DOUBLES = ROW_WORDS / 2;
const ROW_BYTES = ROW_WORDS * Int32Array.BYTES_PER_ELEMENT;

/** Offsets of the fields in a row: the first two in doubles, the others in 32-bit words. */
const TIMESTAMP_MS = 0;
const SEQUENCE = 1;
const KIND = 4;
const ACTOR = 5;
const OWNER = 6;
const BOARD = 7;
const PIN = 8;

/** `words` and `doubles` are views of the same memory. `runs`: the order of the timeline. */
export interface EventRows {
  readonly count: number;
  readonly runs: RowRuns;
  readonly words: Int32Array;
  readonly doubles: Float64Array;
}

/** In order; all fields are 0. */
export function makeEventRows(count: number): EventRows {
  return eventRowsOf(new Int32Array(growableMemory(count * ROW_BYTES), 0, count * ROW_WORDS));
}

/** Rows that `words` holds completely. */
export function eventRowsOf(words: Int32Array, runs = IN_ORDER): EventRows {
  const doubles = new Float64Array(words.buffer, words.byteOffset, words.length / 2);
  return { count: words.length / ROW_WORDS, runs, words, doubles };
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

/** Writes a batch to the rows from `at` on; there must be enough rows. */
export function setEventRows({ words, doubles }: EventRows, batch: EventBatch, at: number): void {
  for (let row = 0; row < batch.count; row++) {
    const double = (at + row) * ROW_DOUBLES;
    const word = (at + row) * ROW_WORDS;
    doubles[double + TIMESTAMP_MS] = batch.timestampMs[row]!;
    doubles[double + SEQUENCE] = batch.sequence[row]!;
    words[word + KIND] = batch.kind[row]!;
    words[word + ACTOR] = batch.actor[row]!;
    words[word + OWNER] = batch.owner[row]!;
    words[word + BOARD] = batch.board[row]!;
    words[word + PIN] = batch.pin[row]!;
  }
}

// The fields of one row: `timestampOf` in Unix milliseconds, the others as in `EventBatch`.

export function timestampOf({ doubles }: EventRows, row: number): number {
  return doubles[row * ROW_DOUBLES + TIMESTAMP_MS]!;
}

export function sequenceOf({ doubles }: EventRows, row: number): number {
  return doubles[row * ROW_DOUBLES + SEQUENCE]!;
}

export function kindOf({ words }: EventRows, row: number): number {
  return words[row * ROW_WORDS + KIND]!;
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
 * Events whose columns need not be copied: the values of event `i` are at `i * stride`, and its
 * instant is at `i * instantStride`. Their other fields are as in `EventBatch`.
 */
export interface EventView
  extends Pick<EventBatch, 'count' | 'kind' | 'actor' | 'board' | 'pin' | 'timestampMs'> {
  readonly stride: number;
  readonly instantStride: number;
}

/** Rows `[from, to)` where they are. */
export function viewRows({ words, doubles }: EventRows, from: number, to: number): EventView {
  const column = (field: number) => words.subarray(from * ROW_WORDS + field, to * ROW_WORDS);
  return {
    count: to - from,
    ...{
      stride: ROW_WORDS,
      kind: column(KIND),
      actor: column(ACTOR),
      board: column(BOARD),
      pin: column(PIN),
    },
    instantStride: ROW_DOUBLES,
    timestampMs: doubles.subarray(from * ROW_DOUBLES + TIMESTAMP_MS, to * ROW_DOUBLES),
  };
}

export function viewOfBatch(batch: EventBatch): EventView {
  return { ...batch, stride: 1, instantStride: 1 };
}

/** One field of all rows; the value of row `r` is at `r * ROW_WORDS`. */
export function fieldOf({ words }: EventRows, field: 'actor' | 'board'): Int32Array {
  return words.subarray(field === 'actor' ? ACTOR : BOARD);
}

type Writable<Batch> = { -readonly [Field in keyof Batch]: Batch[Field] };

/** Columns into which rows are gathered. */
export class BatchMemory {
  readonly #batch: Writable<EventBatch>;
  /** Depends on the rows that were touched, so that touching is not optimized away. */
  touched = 0;

  /** `capacity` is in rows. */
  constructor(capacity: number) {
    // The columns have the order of the fields of a row, so that the same offsets serve for both.
    // They share one allocation, because for few rows several would take longer than the gathering.
    const memory = new ArrayBuffer(capacity * ROW_BYTES);
    const doubles = (place: number) => new Float64Array(memory, place * capacity * 8, capacity);
    const words = (place: number) => new Int32Array(memory, place * capacity * 4, capacity);
    this.#batch = {
      count: 0,
      timestampMs: doubles(TIMESTAMP_MS),
      sequence: doubles(SEQUENCE),
      kind: words(KIND),
      actor: words(ACTOR),
      owner: words(OWNER),
      board: words(BOARD),
      pin: words(PIN),
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
    for (let at = from; at < to; at++) {
      const word = rows[at]! * ROW_WORDS;
      touched |= words[word]! | words[word + ROW_WORDS - 1]!;
    }
    this.touched = touched;
  }

  /** Adds a row; there must be room for it. */
  add({ words, doubles }: EventRows, row: number): void {
    const batch = this.#batch;
    const at = batch.count++;
    const double = row * ROW_DOUBLES;
    const word = row * ROW_WORDS;
    batch.timestampMs[at] = doubles[double + TIMESTAMP_MS]!;
    batch.sequence[at] = doubles[double + SEQUENCE]!;
    batch.kind[at] = words[word + KIND]!;
    batch.actor[at] = words[word + ACTOR]!;
    batch.owner[at] = words[word + OWNER]!;
    batch.board[at] = words[word + BOARD]!;
    batch.pin[at] = words[word + PIN]!;
  }

  /**
   * Adds rows `[from, to)`; there must be room for them. Twice as fast as adding them one by one.
   */
  addRange({ words, doubles }: EventRows, from: number, to: number): void {
    const { count, timestampMs, sequence, kind, actor, owner, board, pin } = this.#batch;
    let double = from * ROW_DOUBLES;
    let word = from * ROW_WORDS;
    for (let at = count; at < count + to - from; at++) {
      timestampMs[at] = doubles[double + TIMESTAMP_MS]!;
      sequence[at] = doubles[double + SEQUENCE]!;
      kind[at] = words[word + KIND]!;
      actor[at] = words[word + ACTOR]!;
      owner[at] = words[word + OWNER]!;
      board[at] = words[word + BOARD]!;
      pin[at] = words[word + PIN]!;
      double += ROW_DOUBLES;
      word += ROW_WORDS;
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
