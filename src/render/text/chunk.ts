/** A piece of an answer while it is written: a buffer that is filled, handed over, and perhaps filled again. */
import { type Block, blockOver, type Fragments, OVERREAD_BYTES, PLACE_LENGTH } from './fragments.ts';

/**
 * Shorter runs are copied in words of eight bytes, four at a time, longer ones by the runtime. Measured on two cores
 * with exports of a million events: four words a turn take 0.85 to 0.9 s where one word takes 1.0 to 1.3 s (0.9 KB
 * an event, 30,000 pins in no order), and 0.33 s where one takes 0.35 s (0.6 KB, 1,000 pins). `Buffer.copy` from 64
 * bytes on takes 0.6 s for the latter; from 128 to 4,096 bytes, noise hid whatever difference this number makes.
 */
const NATIVE_COPY_FROM_BYTES = 1024;

/** The digits of 0 to 99, as two characters each. */
const DIGITS = Uint16Array.from(
  { length: 100 },
  (_, value) => 0x3030 + (value % 10) * 256 + Math.floor(value / 10),
);

/** Bytes of memory for a chunk of so many bytes. */
export function memoryOf(capacity: number): number {
  return capacity + OVERREAD_BYTES;
}

export class Chunk {
  /** The memory, and how much of it is written. Only `event-run.ts`, for speed, and this file write there. */
  readonly block: Block;
  length = 0;
  readonly #capacity: number;

  /** Over memory of its own, or over memory that is given and large enough. */
  constructor(capacity: number, memory?: SharedArrayBuffer) {
    this.#capacity = capacity;
    this.block = blockOver(memory ?? Buffer.allocUnsafeSlow(memoryOf(capacity)).buffer);
  }

  /** Nothing checks a write: ask before each item. */
  fits(size: number): boolean {
    return this.length + size <= this.#capacity;
  }

  /** Bytes that can be written yet. */
  get room(): number {
    return this.#capacity - this.length;
  }

  /** Whether an item of this size fits when nothing else is in the chunk. */
  holds(size: number): boolean {
    return size <= this.#capacity;
  }

  /** Begins anew in the same memory. */
  clear(): this {
    this.length = 0;
    return this;
  }

  /** Both halves of a fragment; `appendHead` and `appendTail` one of them. */
  append(fragments: Fragments, index: number): void {
    this.length = copyFragment(fragments, index, this.block, this.length);
  }

  appendHead(fragments: Fragments, index: number): void {
    this.length = copyHead(fragments, index, this.block, this.length);
  }

  appendTail(fragments: Fragments, index: number): void {
    this.length = copyTail(fragments, index, this.block, this.length);
  }

  /** Text whose characters are one byte each. */
  appendAscii(text: string): void {
    const { bytes } = this.block;
    const at = this.length;
    for (let i = 0; i < text.length; i++) bytes[at + i] = text.charCodeAt(i);
    this.length = at + text.length;
  }

  /** The first bytes of another buffer. */
  appendBytes(bytes: Buffer, length: number): void {
    bytes.copy(this.block.bytes, this.length, 0, length);
    this.length += length;
  }

  /** What was written; it shares the chunk's memory. */
  take(): Uint8Array {
    return this.block.bytes.subarray(0, this.length);
  }
}

// The functions below answer where the next bytes go: a place that is handed on stays in a register, one in an
// object is written and read again for each of the dozen pieces of an event.

/** Both halves of a fragment; `copyHead` and `copyTail` one of them. */
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
  // The last turn may reach beyond the fragment; what it leaves there is written over or cut off.
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

/** Two decimal digits of a value from 0 to 99. */
export function writeTwoDigits(value: number, target: Block, at: number): void {
  target.view.setUint16(at, DIGITS[value]!, true);
}
