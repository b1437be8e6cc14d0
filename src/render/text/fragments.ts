/**
 * Fragments: the bytes of users, boards, pins and so on, by index. They are rendered once, then
 * copied into every response that contains them.
 */
import { inSlices, slice } from '../../system/time-slice.ts';
import type { FragmentMemory } from './fragment-memory.ts';

/** The text of a fragment. It has a tail if something can be inserted between the two halves. */
export type Halves = readonly [head: string, tail?: string | undefined];

/**
 * The bytes of many fragments in one buffer, which can be read for `OVERREAD_BYTES` beyond the last
 * one.
 */
export interface Block {
  readonly bytes: Buffer;
  readonly view: DataView;
}

/** Fragments as they are sent to a different thread: the memory itself is shared, not copied. */
export interface SharedFragments {
  readonly blocks: readonly SharedArrayBuffer[];
  readonly places: Uint32Array;
  /** Bytes of the largest fragment, and of all together. */
  readonly largest: number;
  readonly total: number;
  /**
   * Whether all fragments are in the fragment memory of the dataset, which is then the only block.
   * The places are then addresses in that memory.
   */
  readonly isGathered: boolean;
}

export function blockOver(memory: ArrayBuffer | SharedArrayBuffer, from = 0): Block {
  return { bytes: Buffer.from(memory, from), view: new DataView(memory, from) };
}

/**
 * Fragments are copied 32 bytes at a time, so the last copy may read up to 31 bytes beyond the end.
 */
export const OVERREAD_BYTES = 31;

// Blocks double in size, so that few fragments take little memory and many fragments take few
// blocks.
const FIRST_BLOCK_BYTES = 16 * 1024;
const LARGEST_BLOCK_BYTES = 16 * 1024 * 1024;

/** The number of integers in `places` per fragment: its block, start, end of its head, end. */
export const PLACE_LENGTH = 4;
/** Fragments per array of places while they are built. */
const PLACES_AT_ONCE = 4096;
/** Fragments between two checks of the clock. */
const RENDERED_AT_ONCE = 32;

export class Fragments {
  readonly blocks: readonly Block[];
  /** Interleaved rather than in columns, so that finding a fragment touches one cache line. */
  readonly places: Uint32Array;
  readonly #shared: SharedFragments;

  constructor(shared: SharedFragments) {
    this.#shared = shared;
    this.blocks = shared.blocks.map((block) => blockOver(block));
    this.places = shared.places;
  }

  /** For a different thread, which makes `new Fragments` of it. */
  share(): SharedFragments {
    return this.#shared;
  }

  get count(): number {
    return this.places.length / PLACE_LENGTH;
  }

  /** Bytes of a whole fragment; `headSize` and `tailSize` are those of one half. */
  size(index: number): number {
    const place = index * PLACE_LENGTH;
    return this.places[place + 3]! - this.places[place + 1]!;
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

  /** The tail as text. */
  tail(index: number): string {
    const place = index * PLACE_LENGTH;
    const [block = 0, , headEnd, end] = this.places.subarray(place, place + PLACE_LENGTH);
    return this.blocks[block]!.bytes.toString('utf8', headEnd, end);
  }
}

/**
 * Renders all records of the source, in order, in time slices. Uses `memory` if it is given and has
 * room.
 */
export async function renderFragments<R extends { readonly id: BigInt64Array }>(
  source: AsyncIterable<R>,
  render: (records: R, index: number) => Halves,
  memory?: FragmentMemory,
): Promise<Fragments> {
  const builder = new FragmentsBuilder(memory);
  try {
    let rendered = 0;
    for await (const records of source) {
      for (let index = 0; index < records.id.length; index++) {
        builder.add(...render(records, index));
        rendered += 1;
        // There can be a million fragments.
        if (rendered % RENDERED_AT_ONCE === 0 && slice.isOver()) await slice.pass();
      }
    }
  } catch (error) {
    builder.giveBack();
    throw error;
  }
  return builder.finish();
}

/** The records whose fragments are new or differ from earlier ones. */
interface ChangedFragments {
  /** Ascending. */
  readonly indices: Int32Array;
  /** The number of all fragments. */
  readonly count: number;
}

/**
 * Renders only the fragments that have changed; the others are earlier ones. In time slices.
 * `memory` is that of the earlier ones. Throws if a fragment would be missing.
 */
export async function growFragments(
  earlier: Fragments,
  { indices, count }: ChangedFragments,
  render: (index: number) => Halves,
  memory: FragmentMemory | undefined,
): Promise<Fragments> {
  const added = indices.filter((index) => index >= earlier.count).length;
  if (earlier.count + added !== count)
    throw new Error(`${count} fragments are not ${earlier.count} and ${added}`);
  const before = earlier.share();
  const builder = new FragmentsBuilder(memory, before.blocks.slice(memory === undefined ? 0 : 1));
  try {
    const places = placesOf(count);
    places.set(before.places);
    for (const index of indices) {
      builder.add(...render(index));
      if (slice.isOver()) await slice.pass();
    }
    const rendered = builder.finish().share();
    let total = before.total + rendered.total;
    await inSlices(0, indices.length, (from, to) => {
      for (let nth = from; nth < to; nth++) {
        const index = indices[nth]!;
        if (index < earlier.count) total -= earlier.size(index);
        for (let part = 0; part < PLACE_LENGTH; part++) {
          places[index * PLACE_LENGTH + part] = rendered.places[nth * PLACE_LENGTH + part]!;
        }
      }
    });
    return new Fragments({ ...rendered, places, total, largest: Math.max(before.largest, rendered.largest) });
  } catch (error) {
    builder.giveBack();
    throw error;
  }
}

/** Fragments of a few records, in time slices: their texts can be long. */
export async function fragmentsOfFew(
  indices: Iterable<number>,
  render: (index: number) => Halves,
): Promise<Fragments> {
  const builder = new FragmentsBuilder(undefined);
  for (const index of indices) {
    builder.add(...render(index));
    if (slice.isOver()) await slice.pass();
  }
  return builder.finish();
}

/** Fragments of a few texts, without yielding. */
export function fragmentsOf(texts: Iterable<Halves>, memory?: FragmentMemory): Fragments {
  const builder = new FragmentsBuilder(memory);
  for (const text of texts) builder.add(...text);
  return builder.finish();
}

function placesOf(count: number): Uint32Array {
  return new Uint32Array(new SharedArrayBuffer(count * PLACE_LENGTH * Uint32Array.BYTES_PER_ELEMENT));
}

class FragmentsBuilder {
  readonly #memory: FragmentMemory | undefined;
  readonly #ownBlocks: SharedArrayBuffer[];
  readonly #places: Uint32Array[] = [];
  #count = 0;
  #largest = 0;
  #total = 0;
  /** Ranges taken from the memory: start and number of bytes. */
  readonly #taken: (readonly [start: number, bytes: number])[] = [];
  /**
   * The block being written: its buffer, the position of the next byte, the end of the writable
   * range, and whether the builder has allocated the block itself.
   */
  #bytes: Buffer = Buffer.alloc(0);
  #used = 0;
  #end = 0;
  #isOwn = false;
  #nextBlockBytes = FIRST_BLOCK_BYTES;

  /** `blocks`: those of earlier fragments, which come before new ones. */
  constructor(memory: FragmentMemory | undefined, blocks: readonly SharedArrayBuffer[] = []) {
    this.#memory = memory;
    this.#ownBlocks = [...blocks];
  }

  add(head: string, tail = ''): void {
    // UTF-8 takes at most three bytes per UTF-16 code unit.
    const mostBytes = 3 * (head.length + tail.length) + OVERREAD_BYTES;
    if (this.#used + mostBytes > this.#end) this.#openBlock(mostBytes);
    const start = this.#used;
    const headEnd = start + this.#bytes.write(head, start);
    this.#used = headEnd + this.#bytes.write(tail, headEnd);
    this.#place(start, headEnd, this.#used);
  }

  #place(start: number, headEnd: number, end: number): void {
    const at = (this.#count % PLACES_AT_ONCE) * PLACE_LENGTH;
    if (at === 0) this.#places.push(new Uint32Array(PLACES_AT_ONCE * PLACE_LENGTH));
    const places = this.#places.at(-1)!;
    places[at] = this.#block;
    places[at + 1] = start;
    places[at + 2] = headEnd;
    places[at + 3] = end;
    this.#count += 1;
    this.#largest = Math.max(this.#largest, end - start);
    this.#total += end - start;
  }

  finish(): Fragments {
    this.#closeBlock();
    const places = placesOf(this.#count);
    for (const [nth, some] of this.#places.entries()) {
      const at = nth * some.length;
      places.set(some.subarray(0, places.length - at), at);
    }
    const blocks = this.#memory ? [this.#memory.memory.buffer, ...this.#ownBlocks] : this.#ownBlocks;
    const isGathered = this.#memory !== undefined && this.#ownBlocks.length === 0;
    return new Fragments({ blocks, places, largest: this.#largest, total: this.#total, isGathered });
  }

  /** Gives back all ranges; call it instead of `finish`. */
  giveBack(): void {
    for (const taken of this.#taken) this.#memory?.giveBack(...taken);
  }

  /** Number of the block being written. The fragment memory, if any, is block 0. */
  get #block(): number {
    if (!this.#isOwn) return 0;
    return this.#ownBlocks.length + (this.#memory === undefined ? 0 : 1);
  }

  #openBlock(leastBytes: number): void {
    this.#closeBlock();
    const size = Math.max(this.#nextBlockBytes, leastBytes);
    this.#nextBlockBytes = Math.min(2 * this.#nextBlockBytes, LARGEST_BLOCK_BYTES);
    const start = this.#memory?.take(size);
    if (start !== undefined) this.#taken.push([start, size]);
    this.#isOwn = start === undefined;
    this.#used = start ?? 0;
    this.#end = this.#used + size;
    this.#bytes = Buffer.from(this.#isOwn ? new SharedArrayBuffer(size) : this.#memory!.memory.buffer);
  }

  #closeBlock(): void {
    if (!this.#isOwn) return;
    // There are many small organizations, so their fragments must not occupy a whole block each.
    const block = new SharedArrayBuffer(this.#used + OVERREAD_BYTES);
    Buffer.from(block).set(this.#bytes.subarray(0, this.#used));
    this.#ownBlocks.push(block);
    this.#isOwn = false;
    this.#end = 0;
  }
}
