/**
 * Ready-made bytes of people, boards, pins and the like, by index: rendered once, then copied into every answer
 * that speaks of them.
 */
import { setImmediate } from 'node:timers/promises';

/** A fragment's text. The tail is there when something else can come between the two halves. */
export type Halves = readonly [head: string, tail?: string];

/** Bytes of many fragments in one piece of memory, with room to read `OVERREAD_BYTES` beyond the last. */
export interface Block {
  readonly bytes: Buffer;
  readonly view: DataView;
}

/** Copies go by four words of eight bytes: the last turn may reach over the end by 31. */
export const OVERREAD_BYTES = 31;

// Blocks double in size, so that few fragments take little and many take few blocks.
const FIRST_BLOCK_BYTES = 16 * 1024;
const LARGEST_BLOCK_BYTES = 16 * 1024 * 1024;

/** Integers that describe one fragment in `places`: its block, start, end of its head, end. */
export const PLACE_LENGTH = 4;

export class Fragments {
  readonly blocks: readonly Block[];
  /** Side by side rather than in columns, so that finding a fragment touches one cache line. */
  readonly places: Uint32Array;

  constructor(blocks: readonly Block[], places: Uint32Array) {
    this.blocks = blocks;
    this.places = places;
  }

  /** Bytes of a fragment, both halves; `headSize` and `tailSize` of one half. */
  size(index: number): number {
    const place = index * PLACE_LENGTH;
    return this.places[place + 3]! - this.places[place + 1]!;
  }

  /** Bytes of the largest fragment; 0 when there is none. */
  largestSize(): number {
    let largest = 0;
    for (let index = 0; index < this.places.length / PLACE_LENGTH; index++) {
      largest = Math.max(largest, this.size(index));
    }
    return largest;
  }

  headSize(index: number): number {
    const place = index * PLACE_LENGTH;
    return this.places[place + 2]! - this.places[place + 1]!;
  }

  tailSize(index: number): number {
    const place = index * PLACE_LENGTH;
    return this.places[place + 3]! - this.places[place + 2]!;
  }

  /** The head as text. */
  head(index: number): string {
    const [block = 0, start, headEnd] = this.places.subarray(index * PLACE_LENGTH);
    return this.blocks[block]!.bytes.toString('utf8', start, headEnd);
  }
}

/** Fragments of everything that the source holds, in its order. */
export async function renderFragments<R>(
  source: AsyncIterable<readonly R[]>,
  render: (record: R) => Halves,
): Promise<Fragments> {
  const builder = new FragmentsBuilder();
  for await (const records of source) {
    for (const record of records) builder.add(...render(record));
    // A million of them take seconds, in which others are to be served.
    await setImmediate();
  }
  return builder.finish();
}

/** Fragments of a few texts that are at hand. */
export function fragmentsOf(texts: Iterable<Halves>): Fragments {
  const builder = new FragmentsBuilder();
  for (const text of texts) builder.add(...text);
  return builder.finish();
}

class FragmentsBuilder {
  readonly #blocks: Block[] = [];
  readonly #places: number[] = [];
  #bytes = Buffer.alloc(0);
  #used = 0;
  #nextBlockBytes = FIRST_BLOCK_BYTES;

  add(head: string, tail = ''): void {
    // UTF-8 takes at most three bytes for a unit of UTF-16.
    const mostBytes = 3 * (head.length + tail.length) + OVERREAD_BYTES;
    if (this.#used + mostBytes > this.#bytes.length) {
      this.#closeBlock();
      this.#bytes = Buffer.alloc(Math.max(this.#nextBlockBytes, mostBytes));
      this.#nextBlockBytes = Math.min(2 * this.#nextBlockBytes, LARGEST_BLOCK_BYTES);
    }
    const start = this.#used;
    const headEnd = start + this.#bytes.write(head, start);
    this.#used = headEnd + this.#bytes.write(tail, headEnd);
    this.#places.push(this.#blocks.length, start, headEnd, this.#used);
  }

  finish(): Fragments {
    this.#closeBlock();
    return new Fragments(this.#blocks, Uint32Array.from(this.#places));
  }

  #closeBlock(): void {
    if (this.#bytes.length === 0) return;
    const kept = this.#used + OVERREAD_BYTES;
    // Small organizations are many: theirs must not hold a whole block each.
    const bytes = kept < this.#bytes.length / 2 ? Buffer.alloc(kept) : this.#bytes;
    if (bytes !== this.#bytes) this.#bytes.copy(bytes, 0, 0, this.#used);
    this.#blocks.push({ bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length) });
    this.#bytes = Buffer.alloc(0);
    this.#used = 0;
  }
}
