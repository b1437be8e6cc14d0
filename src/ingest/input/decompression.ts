/**
 * The plain bytes of compressed ones: a little at a time, however much they expand to, and not
 * without end (decision 64).
 */
import type { Transform } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { Damage } from '../fields/refusal.ts';
import type { Compression } from './bundle.ts';

/**
 * More at a time would make texts that are too large for the young part of the heap, which takes
 * longer.
 */
export const CHUNK_BYTES = 65_536;
/**
 * To how many times its size a file may expand, once it has expanded to more than the other number
 * of bytes.
 */
const LARGEST_RATIO = 1000;
const UNCHECKED_BYTES = 64 * 1024 * 1024;

/**
 * The plain bytes. Throws `Damage` after the last of them when the compressed ones are cut short or
 * broken, or expand to more than any real file does.
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

/** Of all parts of a file. */
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
   * The transform is only paused, never read from otherwise: a stream that fails throws away what
   * it has ready, and the records before the damage are wanted. While it is paused it decompresses
   * one chunk ahead, and no more.
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

  /** What comes out with this piece. Throws `Damage`. */
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

  /** What comes out after the last piece; nothing when there was none. Throws `Damage`. */
  async *end(): AsyncGenerator<Buffer> {
    if (this.#given === 0) return;
    this.#transform.end();
    yield* this.#takeUntil(() => false);
  }

  /**
   * So many of the last bytes were not taken, because they lie behind the end of a Zstandard frame:
   * files are put together of several, but Node's stream ends with the first one that does not end
   * together with what it was given. Of gzip it reads all members itself.
   */
  get left(): number {
    return this.#compression === 'zstd' ? this.#given - this.#transform.bytesWritten : 0;
  }

  /** For what is left, once this one has ended. */
  next(): Decompression {
    this.#totals.bytesIn -= this.left;
    return new Decompression(this.#compression, this.#totals);
  }

  destroy(): void {
    this.#transform.destroy();
  }

  /** Until it is done, or the stream has closed. */
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
