/**
 * From items to the chunks of an answer: what stands before, between and after the items, the exact size of it all,
 * and buffers of about 256 KiB.
 */
import { slice } from '../../system/time-slice.ts';
import { Chunk, memoryOf } from './chunk.ts';

const CHUNK_BYTES = 256 * 1024;

/** ASCII texts around the items of an answer. */
export interface Frame {
  readonly beforeFirst: string;
  readonly beforeOthers: string;
  readonly afterEach: string;
  readonly afterLast: string;
  /** The whole answer when there are no items. */
  readonly empty: string;
}

export const JSON_OBJECT: Frame = {
  beforeFirst: '{',
  beforeOthers: ',',
  afterEach: '',
  afterLast: '}',
  empty: '{}',
};

/** A run of items that can be measured and written one by one, by row from 0. */
export interface Run {
  readonly count: number;
  /** No item takes more bytes; absent when that is not known. */
  readonly largest?: number;
  /** Exact bytes of an item. */
  size(row: number): number;
  write(row: number, chunk: Chunk): void;
  /**
   * Writes items from `row` on with what stands around them, as many as fit; answers the row of the first one that was
   * not written. `isFirst` is about the one at `row`.
   */
  readonly writeMany?: ((row: number, isFirst: boolean, frame: Frame, chunk: Chunk) => number) | undefined;
}

/** Bytes of the items of a run, without a frame. */
export function measureRun(run: Run): number {
  let bytes = 0;
  for (let row = 0; row < run.count; row++) bytes += run.size(row);
  return bytes;
}

/** Bytes of a whole answer of so many items that take so many bytes by themselves. */
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
 * The bytes of an answer, in slices of time. Throws
 * when the bytes are not as many as were announced (decision 16), never after more than these have gone out.
 */
export async function* renderChunks(
  frame: Frame,
  runs: AsyncIterable<Run> | Iterable<Run>,
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

/** The bytes of an answer whose items are at hand: those of one chunk at once, more of them like any others. */
export function renderHeld(
  frame: Frame,
  runs: readonly Run[],
  byteLength: number,
  memory?: Chunk,
): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  if (byteLength > CHUNK_BYTES) return renderChunks(frame, runs, byteLength, memory);
  return renderChunksAtOnce(frame, runs, byteLength, new ChunkRing(CHUNK_BYTES, 2, false, memory));
}

/** Where the next chunk comes from. */
interface Chunks {
  readonly chunkBytes: number;
  /** An empty chunk of at least so many bytes; the one before has been handed over. */
  next(capacity: number): Chunk;
}

/** The same, for a thread that has nothing else to do: at once. */
export function* renderChunksAtOnce(
  frame: Frame,
  runs: Iterable<Run>,
  byteLength: number,
  ring: Chunks,
): Generator<Uint8Array, void> {
  const writer = new FrameWriter(frame, byteLength, ring);
  for (const run of runs) yield* writer.write(run);
  yield* writer.end();
}

/** A few chunks that take turns: a gigabyte in fresh ones would keep the garbage collector as busy as the copying. */
export class ChunkRing implements Chunks {
  readonly chunkBytes: number;
  readonly #shared: boolean;
  readonly #chunks: Chunk[] = [];
  readonly #turns: number;
  #spare: Chunk | undefined;

  /** `spare` is an empty chunk to begin with. */
  constructor(chunkBytes: number, turns: number, shared = false, spare?: Chunk) {
    this.chunkBytes = chunkBytes;
    this.#turns = turns;
    this.#shared = shared;
    this.#spare = spare;
  }

  /** An empty chunk of at least so many bytes, in the memory of the oldest one where that is large enough. */
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
  /** Bytes that neither have gone out nor lie in the chunk at hand. */
  #left: number;
  #items = 0;

  constructor(frame: Frame, byteLength: number, ring: Chunks) {
    this.#frame = frame;
    this.#byteLength = byteLength;
    this.#ring = ring;
    this.#left = byteLength;
    this.#chunk = ring.next(Math.min(ring.chunkBytes, byteLength));
  }

  *write(run: Run): Generator<Uint8Array, void> {
    for (let row = this.#fill(run, 0); row < run.count; row = this.#fill(run, row)) {
      const size = this.#sizeAround() + run.size(row);
      const full = this.#chunk;
      this.#left -= full.length;
      if (size > this.#left)
        throw new Error(`An answer was to take ${this.#byteLength} bytes and takes more.`);
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
      throw new Error(`An answer was to take ${this.#byteLength} bytes and takes ${written}.`);
    }
    if (this.#chunk.length > 0) yield this.#chunk.take();
  }

  #sizeAround(): number {
    const { beforeFirst, beforeOthers, afterEach } = this.#frame;
    return (this.#items === 0 ? beforeFirst : beforeOthers).length + afterEach.length;
  }

  /** Writes items from `row` on until the chunk is full; answers the row of the first one that did not fit. */
  #fill(run: Run, row: number): number {
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
      // The exact size is looked up only where it can matter.
      if (!chunk.fits(around + largest) && !chunk.fits(around + run.size(next))) break;
      chunk.appendAscii(this.#items === 0 ? beforeFirst : beforeOthers);
      run.write(next, chunk);
      chunk.appendAscii(afterEach);
      this.#items += 1;
    }
    return next;
  }
}
