/**
 * Columns in which events are handed to a store. They are filled row by row, cleared, and used
 * again.
 */
import type { EventColumns, EventRecord } from '../../store/staging.ts';

const ROWS = 2048;
/** Maximum number of words, so that the number of each fits in a byte. */
export const WORDS = 255;
/** The largest line number that fits the column of lines. */
export const LAST_LINE = 2 ** 31 - 1;
const TWO_TO_32 = 2 ** 32;
const IS_LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** Fills a column of 64-bit integers without allocating a `bigint` for each. */
export class Integers {
  readonly #halves: Int32Array;

  constructor(column: BigInt64Array<ArrayBuffer>) {
    this.#halves = new Int32Array(column.buffer);
  }

  /** `value` must be a safe integer. */
  set(at: number, value: number): void {
    const low = value | 0;
    const high = Math.floor(value / TWO_TO_32);
    this.#halves[2 * at] = IS_LITTLE_ENDIAN ? low : high;
    this.#halves[2 * at + 1] = IS_LITTLE_ENDIAN ? high : low;
  }
}

export class EventBuffer implements EventColumns {
  file = 0;
  count = 0;
  readonly words: string[] = [];
  readonly lines = new Int32Array(ROWS);
  readonly types = new Uint8Array(ROWS);
  readonly actions = new Uint8Array(ROWS);
  readonly hasIds = new Uint8Array(ROWS);
  readonly ids = new BigInt64Array(ROWS);
  readonly ownerIds = new BigInt64Array(ROWS);
  readonly actorIds = new BigInt64Array(ROWS);
  readonly boardIds = new BigInt64Array(ROWS);
  readonly hasPins = new Uint8Array(ROWS);
  readonly pinIds = new BigInt64Array(ROWS);
  readonly timestampsMs = new BigInt64Array(ROWS);

  get isFull(): boolean {
    return this.count === ROWS;
  }

  clear(): void {
    this.count = 0;
  }
}

/** Collects events that have already been read as records. */
export class RecordBuffer extends EventBuffer {
  readonly #timestamps = new Integers(this.timestampsMs);

  /** Whether there may be no room for the next event, or no numbers for its words. */
  override get isFull(): boolean {
    return super.isFull || this.words.length + 2 > WORDS;
  }

  override clear(): void {
    super.clear();
    this.words.length = 0;
  }

  /**
   * Requires that the buffer is not full. All events between two calls of `clear` must be from one
   * file.
   */
  add(event: EventRecord): void {
    const at = this.count;
    this.file = event.file;
    this.lines[at] = event.line;
    this.types[at] = this.#numberOf(event.type);
    this.actions[at] = this.#numberOf(event.action);
    this.hasIds[at] = event.id === undefined ? 0 : 1;
    this.ids[at] = event.id ?? 0n;
    this.ownerIds[at] = event.ownerId;
    this.actorIds[at] = event.actorId;
    this.boardIds[at] = event.boardId;
    this.hasPins[at] = event.pinId === undefined ? 0 : 1;
    this.pinIds[at] = event.pinId ?? 0n;
    this.#timestamps.set(at, event.timestampMs);
    this.count += 1;
  }

  #numberOf(word: string): number {
    const known = this.words.indexOf(word);
    return known === -1 ? this.words.push(word) - 1 : known;
  }
}
