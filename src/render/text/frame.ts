/**
 * Turns items into the chunks of a response: the text before, between and after the items, the
 * exact size of the whole, and buffers of about 256 KiB.
 */
import { slice } from '../../system/time-slice.ts';
import { Chunk, memoryOf } from './chunk.ts';

const CHUNK_BYTES = 256 * 1024;

/** Texts around the items of a response, whose characters are one byte each. */
export interface Frame {
  readonly beforeFirst: string;
  readonly beforeOthers: string;
  readonly afterEach: string;
  readonly afterLast: string;
  /** The whole response if there are no items. */
  readonly empty: string;
}

export const JSON_OBJECT: Frame = {
  beforeFirst: '{',
  beforeOthers: ',',
  afterEach: '',
  afterLast: '}',
  empty: '{}',
};

/** A sequence of items that can be measured and written one by one, by row from 0. */
export interface RowWriter {
  readonly count: number;
  /** The maximum size of an item in bytes; absent if unknown. */
  readonly largest?: number;
  /** Exact size of an item in bytes. */
  size(row: number): number;
  write(row: number, chunk: Chunk): void;
  /**
   * Writes items from `row` on, with the texts around them, as many as fit. Returns the row of the
   * first item that was not written. `isFirst` says whether the item at `row` is the first of the
   * response.
   */
  readonly writeMany?: ((row: number, isFirst: boolean, frame: Frame, chunk: Chunk) => number) | undefined;
}

/** Bytes of the items of a run, without the texts around them. */
export function measureRun(run: RowWriter): number {
  let bytes = 0;
  for (let row = 0; row < run.count; row++) bytes += run.size(row);
  return bytes;
}

/** Bytes of a whole response with `items` items, whose own bytes are `itemBytes` in total. */
export function measureFramed(frame: Frame, items: number, itemBytes: number): number {
  if (items === 0) return frame.empty.length;
  return (
    frame.beforeFirst.length +
    frame.beforeOthers.length * (items - 1) +
    frame.afterEach.length * items +
    frame.afterLast.length +
    itemBytes
  );
}

/**
 * The bytes of a response, in time slices. Throws if their number is not `byteLength`
 * (decision 16); in that case no more than `byteLength` bytes have been returned.
 */
export async function* renderChunks(
  frame: Frame,
  runs: AsyncIterable<RowWriter> | Iterable<RowWriter>,
  byteLength: number,
  memory?: Chunk,
): AsyncGenerator<Uint8Array, void> {
  const writer = new FrameWriter(frame, byteLength, new ChunkRing(CHUNK_BYTES, 2, false, memory));
  for await (const run of runs) {
    for (const chunk of writer.write(run)) {
      yield chunk;
      if (slice.isOver()) await slice.pass();
    }
  }
  yield* writer.end();
}

/**
 * The bytes of a response whose items are in memory. A response of a single chunk is rendered
 * without yielding, a longer one like any other.
 */
export function renderHeld(
  frame: Frame,
  runs: readonly RowWriter[],
  byteLength: number,
  memory?: Chunk,
): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  if (byteLength > CHUNK_BYTES) return renderChunks(frame, runs, byteLength, memory);
  return renderChunksAtOnce(frame, runs, byteLength, new ChunkRing(CHUNK_BYTES, 2, false, memory));
}

/** A source of empty chunks. */
interface Chunks {
  readonly chunkBytes: number;
  /**
   * Returns an empty chunk of at least `capacity` bytes. The previous chunk has been handed over by
   * then.
   */
  next(capacity: number): Chunk;
}

/**
 * As `renderChunks`, but without yielding: for small responses, and for threads that have nothing
 * else to do.
 */
export function* renderChunksAtOnce(
  frame: Frame,
  runs: Iterable<RowWriter>,
  byteLength: number,
  ring: Chunks,
): Generator<Uint8Array, void> {
  const writer = new FrameWriter(frame, byteLength, ring);
  for (const run of runs) yield* writer.write(run);
  yield* writer.end();
}

/**
 * A few chunks that are used in turn. New chunks for a gigabyte would keep the garbage collector as
 * busy as the copying.
 */
export class ChunkRing implements Chunks {
  readonly chunkBytes: number;
  readonly #shared: boolean;
  readonly #chunks: Chunk[] = [];
  readonly #turns: number;
  #spare: Chunk | undefined;

  /** `turns` is the number of chunks. `spare` is an empty chunk to begin with. */
  constructor(chunkBytes: number, turns: number, shared = false, spare?: Chunk) {
    this.chunkBytes = chunkBytes;
    this.#turns = turns;
    this.#shared = shared;
    this.#spare = spare;
  }

  /**
   * Returns an empty chunk of at least `capacity` bytes, in the memory of the oldest one if that is
   * large enough.
   */
  next(capacity: number): Chunk {
    const oldest = this.#spare ?? (this.#chunks.length < this.#turns ? undefined : this.#chunks.shift());
    this.#spare = undefined;
    const chunk = oldest?.holds(capacity)
      ? oldest.clear()
      : new Chunk(capacity, this.#shared ? new SharedArrayBuffer(memoryOf(capacity)) : undefined);
    this.#chunks.push(chunk);
    return chunk;
  }
}

class FrameWriter {
  readonly #frame: Frame;
  readonly #byteLength: number;
  readonly #ring: Chunks;
  #chunk: Chunk;
  /** Bytes of the response that have not been returned, including those in the current chunk. */
  #left: number;
  #items = 0;

  constructor(frame: Frame, byteLength: number, ring: Chunks) {
    this.#frame = frame;
    this.#byteLength = byteLength;
    this.#ring = ring;
    this.#left = byteLength;
    this.#chunk = ring.next(Math.min(ring.chunkBytes, byteLength));
  }

  *write(run: RowWriter): Generator<Uint8Array, void> {
    for (let row = this.#fill(run, 0); row < run.count; row = this.#fill(run, row)) {
      const size = this.#sizeAround() + run.size(row);
      const full = this.#chunk;
      this.#left -= full.length;
      if (size > this.#left)
        throw new Error(`A response of ${this.#byteLength} announced bytes has more bytes.`);
      if (full.length > 0) yield full.take();
      this.#chunk = this.#ring.next(Math.max(size, Math.min(this.#ring.chunkBytes, this.#left)));
    }
  }

  *end(): Generator<Uint8Array, void> {
    const end = this.#items === 0 ? this.#frame.empty : this.#frame.afterLast;
    if (!this.#chunk.fits(end.length)) {
      this.#left -= this.#chunk.length;
      yield this.#chunk.take();
      this.#chunk = this.#ring.next(end.length);
    }
    this.#chunk.appendAscii(end);
    if (this.#chunk.length !== this.#left) {
      const written = this.#byteLength - this.#left + this.#chunk.length;
      throw new Error(`A response of ${this.#byteLength} announced bytes has ${written} bytes.`);
    }
    if (this.#chunk.length > 0) yield this.#chunk.take();
  }

  #sizeAround(): number {
    const { beforeFirst, beforeOthers, afterEach } = this.#frame;
    return (this.#items === 0 ? beforeFirst : beforeOthers).length + afterEach.length;
  }

  /**
   * Writes items from `row` on until the chunk is full. Returns the row of the first item that did
   * not fit.
   */
  #fill(run: RowWriter, row: number): number {
    const { largest = Number.POSITIVE_INFINITY, count } = run;
    const { beforeFirst, beforeOthers, afterEach } = this.#frame;
    const chunk = this.#chunk;
    let next = row;
    for (; next < count; next++) {
      if (run.writeMany !== undefined) {
        const written = run.writeMany(next, this.#items === 0, this.#frame, chunk);
        this.#items += written - next;
        next = written;
        if (next === count) break;
      }
      const around = this.#sizeAround();
      // The exact size is looked up only if it can matter.
      if (!chunk.fits(around + largest) && !chunk.fits(around + run.size(next))) break;
      chunk.appendAscii(this.#items === 0 ? beforeFirst : beforeOthers);
      run.write(next, chunk);
      chunk.appendAscii(afterEach);
      this.#items += 1;
    }
    return next;
  }
}
