/**
 * Fast path for the usual rows of a CSV file of events: cells without quotes, ids of at most 15
 * digits, instants in the form of the API. Bytes become columns without intermediate texts or
 * objects. A row that differs in any way takes the general path, which handles every form and every
 * reason for a refusal.
 */
import { isUtf8 } from 'node:buffer';
import { readPlainInstant } from '../../domain/instant.ts';
import { kind } from '../fields/fields.ts';
import { Refusal } from '../fields/refusal.ts';
import { EventBuffer, Integers, LAST_LINE, WORDS } from './event-columns.ts';

const COMMA = 44;
const LINE_FEED = 10;
const RETURN = 13;
const QUOTE = 34;
const ZERO = 48;
const NINE = 57;

/** Maximum number of digits that is exact in a `number`. */
const DIGITS = 15;
const ODD = -1;

/** The fields that a plain row can have. */
const FIELDS = ['id', 'type', 'action', 'owner_id', 'actor_id', 'board_id', 'pin_id', 'timestamp'] as const;
type PlainField = (typeof FIELDS)[number];

export class PlainEvents extends EventBuffer {
  override readonly words = ['pin'];
  readonly #integers = {
    id: new Integers(this.ids),
    owner_id: new Integers(this.ownerIds),
    actor_id: new Integers(this.actorIds),
    board_id: new Integers(this.boardIds),
    pin_id: new Integers(this.pinIds),
    timestamp: new Integers(this.timestampsMs),
  };
  readonly #header: readonly PlainField[];
  readonly #wordBytes: Buffer[] = [Buffer.from('pin')];
  /** The end of the cell that was read last: at a comma, or at the end of the row. */
  #end = 0;

  private constructor(file: number, header: readonly PlainField[]) {
    super();
    this.file = file;
    this.#header = header;
  }

  /** Undefined if the header, which must be valid, has columns that plain rows cannot have. */
  static under(header: readonly string[], file: number): PlainEvents | undefined {
    const fields = header.map((name) => FIELDS.find((field) => field === name));
    return fields.every((field) => field !== undefined) ? new PlainEvents(file, fields) : undefined;
  }

  /**
   * Reads rows from position `from` on until one is not plain or the columns are full. Returns the
   * position of the first row that was not read. `bytes` are whole lines, the last without its line
   * feed; `line` is the number of the first row.
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
      // The row ended before its last cell. Before the first cell there is no end to check.
      if (from > start && bytes[this.#end] !== COMMA) return false;
      if (!this.#takeCell(field, bytes, from, at)) return false;
    }
    const isWhole = this.#end === bytes.length || bytes[this.#end] === LINE_FEED;
    return isWhole && (this.types[at] === 0) === (this.hasPins[at] === 1);
  }

  #takeCell(field: PlainField, bytes: Buffer, from: number, at: number): boolean {
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

  /** The number in the cell, 0 if the cell is empty, or `ODD`. */
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

  /** The index of the cell's word in `words`, or `ODD`. */
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

  /** The end of the cell, without the carriage return of a line end, or `ODD`. */
  #findEnd(bytes: Buffer, from: number): number {
    let to = from;
    for (; to < bytes.length; to += 1) {
      const byte = bytes[to];
      if (byte === COMMA || byte === LINE_FEED || byte === RETURN) break;
    }
    return this.#isEnd(bytes, to) ? to : ODD;
  }

  /** Whether a cell can end here. Also sets `#end`. */
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
