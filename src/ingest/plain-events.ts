/**
 * The quick way for what nearly every row of a CSV file of events looks like: plain cells without quotes, ids of a few
 * digits, instants in the form of the API. It goes from bytes to columns without a text or an object on the way. A row
 * that looks in any way different is left to the careful way, which knows every form and every reason to refuse.
 */
import { isUtf8 } from 'node:buffer';
import { readPlainInstant } from '../dataset/instant.ts';
import type { EventColumns } from '../dataset/staging.ts';
import { kind } from './fields.ts';
import { Refusal } from './refusal.ts';

const COMMA = 44;
const LINE_FEED = 10;
const RETURN = 13;
const QUOTE = 34;
const ZERO = 48;
const NINE = 57;

const ROWS = 2048;
const WORDS = 255;
const LAST_LINE = 2 ** 31 - 1;
/** So many digits are exact in a `number`. */
const DIGITS = 15;
const TWO_TO_32 = 2 ** 32;
const ODD = -1;

/** The fields that a plain row can have. */
const FIELDS = ['id', 'type', 'action', 'owner_id', 'actor_id', 'board_id', 'pin_id', 'timestamp'] as const;
type Field = (typeof FIELDS)[number];

/** A column of 64-bit integers that is filled without making a `bigint` of every one. */
class Integers {
  readonly values = new BigInt64Array(ROWS);
  readonly #halves = new Int32Array(this.values.buffer);

  /** `value` is a safe integer. */
  set(at: number, value: number): void {
    const low = value | 0;
    const high = Math.floor(value / TWO_TO_32);
    this.#halves[2 * at] = IS_LITTLE_ENDIAN ? low : high;
    this.#halves[2 * at + 1] = IS_LITTLE_ENDIAN ? high : low;
  }
}

const IS_LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

export class PlainEvents implements EventColumns {
  readonly file: number;
  count = 0;
  readonly words: string[] = ['pin'];
  readonly lines = new Int32Array(ROWS);
  readonly types = new Uint8Array(ROWS);
  readonly actions = new Uint8Array(ROWS);
  readonly hasIds = new Uint8Array(ROWS);
  readonly hasPins = new Uint8Array(ROWS);
  readonly #integers = {
    id: new Integers(),
    owner_id: new Integers(),
    actor_id: new Integers(),
    board_id: new Integers(),
    pin_id: new Integers(),
    timestamp: new Integers(),
  };
  readonly #header: readonly Field[];
  readonly #wordBytes: Buffer[] = [Buffer.from('pin')];
  /** Where the cell ends that has been read last: at a comma, or at the end of the row. */
  #end = 0;

  private constructor(file: number, header: readonly Field[]) {
    this.file = file;
    this.#header = header;
  }

  /** Absent when rows under this header, which has been checked, are not plain. */
  static under(header: readonly string[], file: number): PlainEvents | undefined {
    const fields = header.map((name) => FIELDS.find((field) => field === name));
    return fields.every((field) => field !== undefined) ? new PlainEvents(file, fields) : undefined;
  }

  get ids(): BigInt64Array {
    return this.#integers.id.values;
  }
  get ownerIds(): BigInt64Array {
    return this.#integers.owner_id.values;
  }
  get actorIds(): BigInt64Array {
    return this.#integers.actor_id.values;
  }
  get boardIds(): BigInt64Array {
    return this.#integers.board_id.values;
  }
  get pinIds(): BigInt64Array {
    return this.#integers.pin_id.values;
  }
  get timestampsMs(): BigInt64Array {
    return this.#integers.timestamp.values;
  }

  get isFull(): boolean {
    return this.count === ROWS;
  }

  clear(): void {
    this.count = 0;
  }

  /**
   * Takes rows from the place `from` on until one is not plain or the columns are full, and returns the place of the
   * first row not taken. `bytes` are whole lines, the last without its line feed; `line` is that of the first row.
   */
  take(bytes: Buffer, from: number, line: number): number {
    let start = from;
    for (let row = line; start < bytes.length && !this.isFull && row <= LAST_LINE; row += 1) {
      if (!this.#takeRow(bytes, start)) return start;
      this.lines[this.count] = row;
      this.count += 1;
      start = this.#end + 1;
    }
    return start;
  }

  #takeRow(bytes: Buffer, start: number): boolean {
    const at = this.count;
    this.hasIds[at] = 0;
    this.hasPins[at] = 0;
    this.#end = start - 1;
    for (const field of this.#header) {
      const from = this.#end + 1;
      // The row is over before its cells are; before the first cell nothing is over.
      if (from > start && bytes[this.#end] !== COMMA) return false;
      if (!this.#takeCell(field, bytes, from, at)) return false;
    }
    const isWhole = this.#end === bytes.length || bytes[this.#end] === LINE_FEED;
    return isWhole && (this.types[at] === 0) === (this.hasPins[at] === 1);
  }

  #takeCell(field: Field, bytes: Buffer, from: number, at: number): boolean {
    if (field === 'type' || field === 'action') {
      const word = this.#readWord(bytes, from);
      (field === 'type' ? this.types : this.actions)[at] = word;
      return word !== ODD;
    }
    if (field === 'timestamp') {
      const to = this.#findEnd(bytes, from);
      const instantMs = to === ODD ? undefined : readPlainInstant(bytes, from, to);
      if (instantMs === undefined) return false;
      this.#integers.timestamp.set(at, instantMs);
      return true;
    }
    const id = this.#readDigits(bytes, from);
    if (id === ODD) return false;
    const isGiven = this.#end > from && bytes[from] !== RETURN;
    if (field === 'id') this.hasIds[at] = isGiven ? 1 : 0;
    else if (field === 'pin_id') this.hasPins[at] = isGiven ? 1 : 0;
    else if (!isGiven) return false;
    this.#integers[field].set(at, id);
    return true;
  }

  /** The number that the cell holds, 0 when it holds nothing, or `ODD`. */
  #readDigits(bytes: Buffer, from: number): number {
    let value = 0;
    let to = from;
    for (; to < bytes.length; to += 1) {
      const byte = bytes[to] ?? 0;
      if (byte < ZERO || byte > NINE) break;
      value = value * 10 + (byte - ZERO);
    }
    if (to - from > DIGITS) return ODD;
    return this.#isEnd(bytes, to) ? value : ODD;
  }

  /** Place among `words` of the word that the cell holds, or `ODD`. */
  #readWord(bytes: Buffer, from: number): number {
    const to = this.#findEnd(bytes, from);
    if (to === ODD) return ODD;
    for (let place = 0; place < this.#wordBytes.length; place += 1) {
      if (isAt(this.#wordBytes[place] as Buffer, bytes, from, to)) return place;
    }
    return this.#learnWord(bytes.subarray(from, to));
  }

  #learnWord(bytes: Buffer): number {
    if (this.words.length === WORDS || bytes.includes(QUOTE) || !isUtf8(bytes)) return ODD;
    try {
      const word = kind.read(bytes.toString(), '', true);
      if (word === undefined) return ODD;
      this.words.push(word);
      this.#wordBytes.push(Buffer.from(word));
      return this.words.length - 1;
    } catch (error) {
      if (error instanceof Refusal) return ODD;
      throw error;
    }
  }

  /** The end of the cell without the carriage return of a line's end, or `ODD`. */
  #findEnd(bytes: Buffer, from: number): number {
    let to = from;
    for (; to < bytes.length; to += 1) {
      const byte = bytes[to];
      if (byte === COMMA || byte === LINE_FEED || byte === RETURN) break;
    }
    return this.#isEnd(bytes, to) ? to : ODD;
  }

  /** Whether a cell can end here; if so, notes where the next one is. */
  #isEnd(bytes: Buffer, to: number): boolean {
    const end = bytes[to] === RETURN ? to + 1 : to;
    this.#end = end;
    return end >= bytes.length || bytes[end] === LINE_FEED || (end === to && bytes[end] === COMMA);
  }
}

function isAt(word: Buffer, bytes: Buffer, from: number, to: number): boolean {
  if (word.length !== to - from) return false;
  for (let at = 0; at < word.length; at += 1) if (word[at] !== bytes[from + at]) return false;
  return true;
}
