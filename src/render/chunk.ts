/** A piece of an answer while it is written: a buffer that is filled, handed over, and perhaps filled again. */
import { type Block, type Fragments, OVERREAD_BYTES, PLACE_LENGTH } from './fragments.ts';

/**
 * Shorter runs are copied in words of eight bytes, longer ones by the runtime. Copying a million events of 0.94 KB,
 * nine fragments each, on 30,000 pins, one run of each way on a machine with other work: a view made ahead for every
 * fragment 0.68 GB/s, a view made at each copy 1.0, `Buffer.copy` 1.2, a loop over bytes 0.53, over words of four
 * bytes 1.0, of eight 1.4. Only words before `Buffer.copy` was repeated, and held in three of three. Between 128
 * bytes and no limit at all, noise hid whatever difference this number makes.
 */
const NATIVE_COPY_FROM_BYTES = 512;

export class Chunk {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #capacity: number;
  #length = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#bytes = Buffer.allocUnsafeSlow(capacity + OVERREAD_BYTES);
    this.#view = new DataView(this.#bytes.buffer);
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
    // The last word may reach beyond the fragment; what it leaves there is written over or cut off.
    const source = block.view;
    const target = this.#view;
    for (let from = start, to = at; from < end; from += 8, to += 8) {
      target.setBigInt64(to, source.getBigInt64(from, true), true);
    }
  }
}
