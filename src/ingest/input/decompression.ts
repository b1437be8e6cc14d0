/**
 * Decompresses bytes in bounded memory, regardless of the expanded size, and refuses an extreme
 * expansion (decision 64).
 */
import type { Transform } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { Damage } from '../fields/refusal.ts';
import type { Compression } from './bundle.ts';

/** Larger chunks are slower: their texts do not fit the young generation of the heap. */
export const CHUNK_BYTES = 65_536;
/**
 * Limit of the expanded size as a multiple of the compressed size. Applies above `UNCHECKED_BYTES`.
 */
const LARGEST_RATIO = 1000;
const UNCHECKED_BYTES = 64 * 1024 * 1024;

/**
 * The decompressed bytes. Throws `Damage` after the last valid ones when the compressed data is cut
 * short, broken, or expands to more than any real file does.
 */
export async function* unpack(
  packed: AsyncIterable<Buffer>,
  compression: Compression,
): AsyncGenerator<Buffer> {
  if (compression === 'none') {
    yield* packed;
    return;
  }
  let decompression = new Decompression(compression);
  try {
    for await (const piece of packed) {
      yield* decompression.add(piece);
      for (let left = decompression.left; left > 0; left = decompression.left) {
        yield* decompression.end();
        decompression = decompression.next();
        yield* decompression.add(piece.subarray(piece.length - left));
      }
    }
    yield* decompression.end();
  } finally {
    decompression.destroy();
  }
}

type Packed = Exclude<Compression, 'none'>;

/** Byte counts over all parts of a file. */
interface Totals {
  bytesIn: number;
  bytesOut: number;
}

class Decompression {
  readonly #transform: Transform & { readonly bytesWritten: number };
  readonly #compression: Packed;
  readonly #totals: Totals;
  readonly #ready: Buffer[] = [];
  #failure: Error | undefined;
  #isClosed = false;
  #wake = () => {};
  #given = 0;

  /**
   * The stream is only paused and resumed, never read in other ways: a stream that fails discards
   * the data it has ready, but the records before the damage must be imported. While it is paused,
   * it decompresses at most one chunk ahead.
   */
  constructor(compression: Packed, totals: Totals = { bytesIn: 0, bytesOut: 0 }) {
    const options = { chunkSize: CHUNK_BYTES };
    const transform = compression === 'gzip' ? createGunzip(options) : createZstdDecompress(options);
    this.#transform = transform;
    this.#compression = compression;
    this.#totals = totals;
    transform.on('data', (chunk: Buffer) => {
      this.#ready.push(chunk);
      transform.pause();
      this.#wake();
    });
    transform.on('error', (error) => {
      this.#failure = error;
    });
    transform.on('close', () => {
      this.#isClosed = true;
      this.#wake();
    });
  }

  /** The output that becomes available with these bytes. Throws `Damage`. */
  async *add(piece: Buffer): AsyncGenerator<Buffer> {
    this.#given += piece.length;
    this.#totals.bytesIn += piece.length;
    let isTaken = false;
    this.#transform.write(piece, () => {
      isTaken = true;
      this.#wake();
    });
    yield* this.#takeUntil(() => isTaken);
  }

  /** The remaining output after the last input; none if there was no input. Throws `Damage`. */
  async *end(): AsyncGenerator<Buffer> {
    if (this.#given === 0) return;
    this.#transform.end();
    yield* this.#takeUntil(() => false);
  }

  /**
   * The number of last bytes that were not consumed because they follow the end of a Zstandard
   * frame. A file can consist of several frames, but Node's stream ends after the first frame whose
   * end is not also the end of the input given so far. For gzip, the stream reads all members
   * itself.
   */
  get left(): number {
    return this.#compression === 'zstd' ? this.#given - this.#transform.bytesWritten : 0;
  }

  /** A decompression for the remaining bytes, to be used once this one has ended. */
  next(): Decompression {
    this.#totals.bytesIn -= this.left;
    return new Decompression(this.#compression, this.#totals);
  }

  destroy(): void {
    this.#transform.destroy();
  }

  /** Output until `isDone` returns true, or the stream has closed. Throws `Damage`. */
  async *#takeUntil(isDone: () => boolean): AsyncGenerator<Buffer> {
    for (;;) {
      const ready = this.#ready.splice(0);
      for (const chunk of ready) {
        this.#count(chunk.length);
        yield chunk;
      }
      if (this.#ready.length > 0) continue;
      if (isDone() || this.#isClosed) break;
      this.#transform.resume();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#failure === undefined) {
      this.#transform.resume();
      return;
    }
    throw new Damage(`the ${this.#compression} data is broken or cut short: ${this.#failure.message}`);
  }

  #count(bytes: number): void {
    this.#totals.bytesOut += bytes;
    const { bytesIn, bytesOut } = this.#totals;
    if (bytesOut <= UNCHECKED_BYTES || bytesOut <= LARGEST_RATIO * bytesIn) return;
    throw new Damage(
      `the ${this.#compression} data expands to more than 1,000 times its size; if that is right, ` +
        'decompress it and import what comes out',
    );
  }
}
