/**
 * Divides a file with one JSON array into the texts of its elements, in bounded memory. Only finds
 * where elements begin and end. Whether an element is valid JSON is checked when it is read.
 */
import { isUtf8 } from 'node:buffer';
import { Damage } from '../fields/refusal.ts';
import {
  KEPT_OF_OVERLONG,
  type Line,
  LONGEST_RECORD_BYTES,
  NOT_UTF8,
  TOO_LONG,
  withoutMark,
} from './lines.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const LINE_FEED = 0x0a;

/**
 * The elements in order, many at a time, each as a `Line` with its first line and its text. Throws
 * `Damage` when the file is not one array, or ends before the array does.
 */
export async function* readElements(bytes: AsyncIterable<Buffer>): AsyncGenerator<readonly Line[]> {
  yield* cut(bytes, new ElementCutter(OPENING_BRACKET, CLOSING_BRACKET));
}

async function* cut(bytes: AsyncIterable<Buffer>, cutter: ElementCutter): AsyncGenerator<readonly Line[]> {
  try {
    for await (const chunk of withoutMark(bytes)) {
      const failure = cutter.add(chunk);
      yield cutter.take();
      if (failure !== undefined) throw new Damage(failure);
    }
  } catch (error) {
    yield cutter.takeLast();
    throw error;
  }
  yield cutter.takeLast();
  if (!cutter.isClosed) throw new Damage(`the JSON ${cutter.what} is not closed; the file may be cut short`);
}

/**
 * The members of a file with one JSON object, in order, many at a time. The text of each is its
 * name, a colon and its value. Throws `Damage` as `readElements` does.
 */
export async function* readMembers(bytes: AsyncIterable<Buffer>): AsyncGenerator<readonly Line[]> {
  yield* cut(bytes, new ElementCutter(OPENING_BRACE, CLOSING_BRACE));
}

/** Wraps a single object in an array: a response of other software is one document. */
export async function* asArray(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let isDocument: boolean | undefined;
  for await (const chunk of withoutMark(bytes)) {
    if (isDocument === undefined) {
      const first = chunk.find((byte) => byte > 0x20);
      if (first !== undefined) {
        isDocument = first === OPENING_BRACE;
        if (isDocument) yield Buffer.from('[');
      }
    }
    yield chunk;
  }
  if (isDocument === true) yield Buffer.from(']');
}

class ElementCutter {
  isClosed = false;
  readonly #opening: number;
  readonly #closing: number;
  #elements: Line[] = [];
  /** The latest element, until it is known whether the next one begins on the same line. */
  #latest: Line | undefined;
  /** Number of elements so far. */
  #count = 0;
  #line = 1;
  /** 0 outside the array or object, 1 directly inside it, more inside a nested one. */
  #depth = 0;
  #isString = false;
  #isEscaped = false;
  #isFirst = true;
  /**
   * The current element: its bytes in earlier chunks, their length, and its first line, which is 0
   * before it begins.
   */
  #pieces: Buffer[] = [];
  #length = 0;
  #begins = 0;

  constructor(opening: number, closing: number) {
    this.#opening = opening;
    this.#closing = closing;
  }

  get what(): 'array' | 'object' {
    return this.#opening === OPENING_BRACKET ? 'array' : 'object';
  }

  /** The elements since the last call, without the latest one. */
  take(): readonly Line[] {
    const elements = this.#elements;
    this.#elements = [];
    return elements;
  }

  takeLast(): readonly Line[] {
    if (this.#latest !== undefined) this.#elements.push(this.#latest);
    this.#latest = undefined;
    return this.take();
  }

  /** Reads the next bytes. Returns the reason if the rest of the file cannot be read. */
  add(chunk: Buffer): string | undefined {
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (byte === LINE_FEED) this.#line += 1;
      if (this.#isString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === BACKSLASH) this.#isEscaped = true;
        else if (byte === QUOTE) this.#isString = false;
        continue;
      }
      if (byte <= 0x20) continue;
      if (this.#depth === 0) {
        if (byte !== this.#opening || this.isClosed)
          return `must hold one JSON ${this.what} and nothing else`;
        this.#depth = 1;
        from = at + 1;
        continue;
      }
      if (this.#depth === 1 && (byte === COMMA || byte === this.#closing)) {
        this.#finish(chunk.subarray(from, at), byte === this.#closing);
        from = at + 1;
        continue;
      }
      if (this.#begins === 0) this.#begins = this.#line;
      if (byte === QUOTE) this.#isString = true;
      else if (byte === OPENING_BRACE || byte === OPENING_BRACKET) this.#depth += 1;
      else if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) this.#depth = Math.max(1, this.#depth - 1);
    }
    if (this.#depth > 0) this.#keep(chunk.subarray(from));
    return undefined;
  }

  #push(element: Line): void {
    const latest = this.#latest;
    const isShared = latest?.line === element.line;
    if (latest !== undefined) this.#elements.push(isShared ? { ...latest, index: this.#count } : latest);
    this.#count += 1;
    this.#latest = isShared ? { ...element, index: this.#count } : element;
  }

  #keep(piece: Buffer): void {
    this.#length += piece.length;
    // The remaining bytes of an element that is too long are not kept.
    if (this.#length <= LONGEST_RECORD_BYTES) this.#pieces.push(piece);
  }

  #finish(piece: Buffer, isLast: boolean): void {
    this.#keep(piece);
    if (this.#begins > 0) this.#push(makeElement(Buffer.concat(this.#pieces), this.#begins, this.#length));
    else if (!isLast || !this.#isFirst) {
      const problem = `an element of the ${this.what} is missing here`;
      this.#push({ line: this.#line, text: '', problem });
    }
    this.#isFirst = false;
    this.#pieces = [];
    this.#length = 0;
    this.#begins = 0;
    if (isLast) {
      this.#depth = 0;
      this.isClosed = true;
    }
  }
}

function makeElement(bytes: Buffer, line: number, length: number): Line {
  const text = bytes.toString('utf8').trim();
  if (length > LONGEST_RECORD_BYTES)
    return { line, text: text.slice(0, KEPT_OF_OVERLONG), problem: TOO_LONG };
  if (!isUtf8(bytes)) return { line, text, problem: NOT_UTF8 };
  return { line, text };
}
