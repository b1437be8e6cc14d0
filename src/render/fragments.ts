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

/** Fragments as they travel to another thread: the memory itself is shared, not copied. */
export interface SharedFragments {
  readonly blocks: readonly SharedArrayBuffer[];
  readonly places: Uint32Array;
}

export function blockOver(memory: ArrayBuffer | SharedArrayBuffer): Block {
  return { bytes: Buffer.from(memory), view: new DataView(memory) };
}

/** Copies go by four words of eight bytes: the last turn may reach over the end by 31. */
export const OVERREAD_BYTES = 31;

// Blocks double in size, so that few fragments take little and many take few blocks.
const FIRST_BLOCK_BYTES = 16 * 1024;
const LARGEST_BLOCK_BYTES = 16 * 1024 * 1024;

/** Integers that describe one fragment in `places`: its block, start, end of its head, end. */
export const PLACE_LENGTH = 4;

const CACHE_LINE_BYTES = 64;
/** Fewer bytes stay in a core's own cache by themselves; touching them first would only take time. */
const SPREAD_FROM_BYTES = 768 * 1024;

export class Fragments {
  readonly blocks: readonly Block[];
  /** Side by side rather than in columns, so that finding a fragment touches one cache line. */
  readonly places: Uint32Array;
  readonly #shared: SharedFragments;
  /** Whether they are too many for a core's own cache. */
  readonly isSpread: boolean;

  constructor(shared: SharedFragments) {
    this.#shared = shared;
    this.blocks = shared.blocks.map(blockOver);
    this.places = shared.places;
    this.isSpread = shared.blocks.reduce((sum, block) => sum + block.byteLength, 0) >= SPREAD_FROM_BYTES;
  }

  /** For another thread, which makes `new Fragments` of it. */
  share(): SharedFragments {
    return this.#shared;
  }

  /**
   * Reads every cache line of a fragment, so that it is near when it is copied. A copy waits for one line after the
   * other; reads that go before it wait for all of them, and for those of other fragments, at the same time. Exports
   * of a million events with 30,000 pins in no order take 0.5 s instead of 0.75 s this way. Answers something that
   * depends on what was read, so that the reading is not optimized away.
   */
  touch(index: number): number {
    if (!this.isSpread) return 0;
    const place = index * PLACE_LENGTH;
    const { view } = this.blocks[this.places[place]!]!;
    const end = this.places[place + 3]!;
    let read = 0;
    for (let at = this.places[place + 1]!; at < end; at += CACHE_LINE_BYTES) read |= view.getInt8(at);
    return read;
  }

  /** Bytes of a fragment, both halves; `headSize` and `tailSize` of one half. */
  size(index: number): number {
    const place = index * PLACE_LENGTH;
    return this.places[place + 3]! - this.places[place + 1]!;
  }

  /** Reads where a fragment lies. */
  touchPlace(index: number): number {
    return this.places[index * PLACE_LENGTH] ?? 0;
  }

  /** Sizes of all, by index. */
  sizes(): Float64Array {
    return Float64Array.from({ length: this.places.length / PLACE_LENGTH }, (_, index) => this.size(index));
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
  readonly #blocks: SharedArrayBuffer[] = [];
  readonly #places: number[] = [];
  #bytes: Buffer = Buffer.alloc(0);
  #used = 0;
  #nextBlockBytes = FIRST_BLOCK_BYTES;

  add(head: string, tail = ''): void {
    // UTF-8 takes at most three bytes for a unit of UTF-16.
    const mostBytes = 3 * (head.length + tail.length) + OVERREAD_BYTES;
    if (this.#used + mostBytes > this.#bytes.length) {
      this.#closeBlock();
      this.#bytes = Buffer.from(new SharedArrayBuffer(Math.max(this.#nextBlockBytes, mostBytes)));
      this.#nextBlockBytes = Math.min(2 * this.#nextBlockBytes, LARGEST_BLOCK_BYTES);
    }
    const start = this.#used;
    const headEnd = start + this.#bytes.write(head, start);
    this.#used = headEnd + this.#bytes.write(tail, headEnd);
    this.#places.push(this.#blocks.length, start, headEnd, this.#used);
  }

  finish(): Fragments {
    this.#closeBlock();
    const places = new Uint32Array(
      new SharedArrayBuffer(this.#places.length * Uint32Array.BYTES_PER_ELEMENT),
    );
    places.set(this.#places);
    return new Fragments({ blocks: this.#blocks, places });
  }

  #closeBlock(): void {
    if (this.#bytes.length === 0) return;
    // Small organizations are many: theirs must not hold a whole block each.
    const block = new SharedArrayBuffer(this.#used + OVERREAD_BYTES);
    Buffer.from(block).set(this.#bytes.subarray(0, this.#used));
    this.#blocks.push(block);
    this.#bytes = Buffer.alloc(0);
    this.#used = 0;
  }
}
