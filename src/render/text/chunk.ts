/**
 * A chunk of a response while it is written: a buffer that is filled, handed over, and possibly
 * filled again.
 */
import { type Block, blockOver, type Fragments, OVERREAD_BYTES, PLACE_LENGTH } from './fragments.ts';

/**
 * Shorter fragments are copied in words of eight bytes, four at a time, longer ones by the runtime.
 * Measured with exports of a million events: four words at a time are faster than one, and
 * `Buffer.copy` from 64 bytes on is slower. Between 128 and 4,096 bytes, the choice of this number
 * made no measurable difference.
 */
const NATIVE_COPY_FROM_BYTES = 1024;

/** The two ASCII digits of each number from 0 to 99, as a little-endian 16-bit integer. */
const DIGITS = Uint16Array.from(
  { length: 100 },
  (_, value) => 0x3030 + (value % 10) * 256 + Math.floor(value / 10),
);

/** Bytes of memory that a chunk of `capacity` bytes requires. */
export function memoryOf(capacity: number): number {
  return capacity + OVERREAD_BYTES;
}

export class Chunk {
  /**
   * The memory, and the number of bytes written to it. Only this file and, for speed,
   * `event-writer.ts` write there.
   */
  readonly block: Block;
  length = 0;
  readonly #capacity: number;

  /** Allocates memory, or uses `memory`, which must be large enough (see `memoryOf`). */
  constructor(capacity: number, memory?: SharedArrayBuffer) {
    this.#capacity = capacity;
    this.block = blockOver(memory ?? Buffer.allocUnsafeSlow(memoryOf(capacity)).buffer);
  }

  /**
   * Whether an item of this size still fits. Writes are not checked, so call this before each item.
   */
  fits(size: number): boolean {
    return this.length + size <= this.#capacity;
  }

  /** Bytes that can still be written. */
  get room(): number {
    return this.#capacity - this.length;
  }

  /** Whether an item of this size fits into the chunk when it is empty. */
  holds(size: number): boolean {
    return size <= this.#capacity;
  }

  /** Empties the chunk; it keeps its memory. */
  clear(): this {
    this.length = 0;
    return this;
  }

  /** Appends a whole fragment; `appendHead` and `appendTail` append one half of it. */
  append(fragments: Fragments, index: number): void {
    this.length = copyFragment(fragments, index, this.block, this.length);
  }

  appendHead(fragments: Fragments, index: number): void {
    this.length = copyHead(fragments, index, this.block, this.length);
  }

  appendTail(fragments: Fragments, index: number): void {
    this.length = copyTail(fragments, index, this.block, this.length);
  }

  /** Appends text whose characters are one byte each. */
  appendAscii(text: string): void {
    const { bytes } = this.block;
    const at = this.length;
    for (let i = 0; i < text.length; i++) bytes[at + i] = text.charCodeAt(i);
    this.length = at + text.length;
  }

  /** Appends the first `length` bytes of a buffer. */
  appendBytes(bytes: Buffer, length: number): void {
    bytes.copy(this.block.bytes, this.length, 0, length);
    this.length += length;
  }

  /** The bytes written so far; they share the memory of the chunk. */
  take(): Uint8Array {
    return this.block.bytes.subarray(0, this.length);
  }
}

// The functions below return the position of the next byte. A position that is passed on stays in a
// register; a property of an object would be written and read again for each of the dozen fragments
// of an event.

/** Copies a whole fragment; `copyHead` and `copyTail` copy one half of it. */
export function copyFragment(
  { blocks, places }: Fragments,
  index: number,
  target: Block,
  at: number,
): number {
  const place = index * PLACE_LENGTH;
  return copyBytes(blocks[places[place]!]!, places[place + 1]!, places[place + 3]!, target, at);
}

export function copyHead({ blocks, places }: Fragments, index: number, target: Block, at: number): number {
  const place = index * PLACE_LENGTH;
  return copyBytes(blocks[places[place]!]!, places[place + 1]!, places[place + 2]!, target, at);
}

export function copyTail({ blocks, places }: Fragments, index: number, target: Block, at: number): number {
  const place = index * PLACE_LENGTH;
  return copyBytes(blocks[places[place]!]!, places[place + 2]!, places[place + 3]!, target, at);
}

function copyBytes(source: Block, start: number, end: number, target: Block, at: number): number {
  if (end - start >= NATIVE_COPY_FROM_BYTES) {
    source.bytes.copy(target.bytes, at, start, end);
    return at + end - start;
  }
  // The last iteration may write beyond the fragment; those bytes are overwritten or cut off later.
  const from = source.view;
  const to = target.view;
  for (let read = start, write = at; read < end; read += 32, write += 32) {
    to.setBigInt64(write, from.getBigInt64(read, true), true);
    to.setBigInt64(write + 8, from.getBigInt64(read + 8, true), true);
    to.setBigInt64(write + 16, from.getBigInt64(read + 16, true), true);
    to.setBigInt64(write + 24, from.getBigInt64(read + 24, true), true);
  }
  return at + end - start;
}

/** Writes a value from 0 to 99 as two decimal digits. */
export function writeTwoDigits(value: number, target: Block, at: number): void {
  target.view.setUint16(at, DIGITS[value]!, true);
}
