/**
 * The plain bytes of compressed ones: a little at a time, however much they expand to, and not
 * without end (decision 64).
 */
import type { Transform } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import type { Compression } from './bundle.ts';
import { Damage } from './refusal.ts';

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
  const options = { chunkSize: CHUNK_BYTES };
  const transform = compression === 'gzip' ? createGunzip(options) : createZstdDecompress(options);
  const decompression = new Decompression(transform, compression);
  try {
    for await (const piece of packed) yield* decompression.add(piece);
    yield* decompression.end();
  } finally {
    transform.destroy();
  }
}

class Decompression {
  readonly #transform: Transform;
  readonly #compression: Compression;
  readonly #ready: Buffer[] = [];
  #failure: Error | undefined;
  #isClosed = false;
  #wake = () => {};
  #bytesIn = 0;
  #bytesOut = 0;

  /**
   * The transform is only paused, never read from otherwise: a stream that fails throws away what
   * it has ready, and the records before the damage are wanted. While it is paused it decompresses
   * one chunk ahead, and no more.
   */
  constructor(transform: Transform, compression: Compression) {
    this.#transform = transform;
    this.#compression = compression;
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
    this.#bytesIn += piece.length;
    let isTaken = false;
    this.#transform.write(piece, () => {
      isTaken = true;
      this.#wake();
    });
    yield* this.#takeUntil(() => isTaken);
  }

  /** What comes out after the last piece; nothing when there was none. Throws `Damage`. */
  async *end(): AsyncGenerator<Buffer> {
    if (this.#bytesIn === 0) return;
    this.#transform.end();
    yield* this.#takeUntil(() => false);
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
    this.#bytesOut += bytes;
    if (this.#bytesOut <= UNCHECKED_BYTES || this.#bytesOut <= LARGEST_RATIO * this.#bytesIn) return;
    throw new Damage(
      `the ${this.#compression} data expands to more than 1,000 times its size; if that is right, ` +
        'decompress it and import what comes out',
    );
  }
}
