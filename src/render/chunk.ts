/** A piece of an answer while it is written: a buffer that is filled, handed over, and perhaps filled again. */
import { type Block, blockOver, type Fragments, OVERREAD_BYTES, PLACE_LENGTH } from './fragments.ts';

/**
 * Shorter runs are copied in words of eight bytes, four at a time, longer ones by the runtime. Measured on two cores
 * with exports of a million events: four words a turn take 0.85 to 0.9 s where one word takes 1.0 to 1.3 s (0.9 KB
 * an event, 30,000 pins in no order), and 0.33 s where one takes 0.35 s (0.6 KB, 1,000 pins). `Buffer.copy` from 64
 * bytes on takes 0.6 s for the latter; from 128 to 4,096 bytes, noise hid whatever difference this number makes.
 */
const NATIVE_COPY_FROM_BYTES = 1024;

const ZERO = 48;

export class Chunk {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #capacity: number;
  #length = 0;

  /** `shared`: in memory that another thread can read. */
  constructor(capacity: number, shared = false) {
    const size = capacity + OVERREAD_BYTES;
    const { bytes, view } = blockOver(
      shared ? new SharedArrayBuffer(size) : Buffer.allocUnsafeSlow(size).buffer,
    );
    this.#capacity = capacity;
    this.#bytes = bytes;
    this.#view = view;
  }

  get length(): number {
    return this.#length;
  }

  /** Nothing checks a write: ask before each item. */
  fits(size: number): boolean {
    return this.#length + size <= this.#capacity;
  }

  /** Whether an item of this size fits when nothing else is in the chunk. */
  holds(size: number): boolean {
    return size <= this.#capacity;
  }

  /** Begins anew in the same memory. */
  clear(): this {
    this.#length = 0;
    return this;
  }

  /** Both halves of a fragment; `appendHead` and `appendTail` one of them. */
  append(fragments: Fragments, index: number): void {
    const { blocks, places } = fragments;
    const place = index * PLACE_LENGTH;
    this.#copy(blocks[places[place]!]!, places[place + 1]!, places[place + 3]!);
  }

  appendHead(fragments: Fragments, index: number): void {
    const { blocks, places } = fragments;
    const place = index * PLACE_LENGTH;
    this.#copy(blocks[places[place]!]!, places[place + 1]!, places[place + 2]!);
  }

  appendTail(fragments: Fragments, index: number): void {
    const { blocks, places } = fragments;
    const place = index * PLACE_LENGTH;
    this.#copy(blocks[places[place]!]!, places[place + 2]!, places[place + 3]!);
  }

  /** Text whose characters are one byte each. */
  appendAscii(text: string): void {
    const bytes = this.#bytes;
    const at = this.#length;
    for (let i = 0; i < text.length; i++) bytes[at + i] = text.charCodeAt(i);
    this.#length = at + text.length;
  }

  /** The first bytes of a block. */
  appendBytes(block: Block, length: number): void {
    this.#copy(block, 0, length);
  }

  /** Two decimal digits of a value from 0 to 99 over what stands at `distance` before the end. */
  overwriteTwoDigits(value: number, distance: number): void {
    const at = this.#length - distance;
    const tens = (value / 10) | 0;
    this.#bytes[at] = ZERO + tens;
    this.#bytes[at + 1] = ZERO + value - tens * 10;
  }

  /** What was written; it shares the chunk's memory. */
  take(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  #copy(block: Block, start: number, end: number): void {
    const at = this.#length;
    this.#length = at + end - start;
    if (end - start >= NATIVE_COPY_FROM_BYTES) {
      block.bytes.copy(this.#bytes, at, start, end);
      return;
    }
    // The last turn may reach beyond the fragment; what it leaves there is written over or cut off.
    const source = block.view;
    const target = this.#view;
    for (let from = start, to = at; from < end; from += 32, to += 32) {
      target.setBigInt64(to, source.getBigInt64(from, true), true);
      target.setBigInt64(to + 8, source.getBigInt64(from + 8, true), true);
      target.setBigInt64(to + 16, source.getBigInt64(from + 16, true), true);
      target.setBigInt64(to + 24, source.getBigInt64(from + 24, true), true);
    }
  }
}
