/**
 * A buffer pool for small responses. New memory for each of thousands of responses a second would
 * have to be zeroed. It would also keep the garbage collector busy, which marks the whole heap for
 * every 64 MB of buffers.
 */
import type { ServerResponse } from 'node:http';
import { Chunk } from '../../render/text/chunk.ts';

const SMALLEST_BYTES = 4096;
/**
 * Spare buffers of one size. More are needed only when more small responses are in progress at
 * once.
 */
const MOST_SPARE = 32;

export class BufferPool {
  /**
   * By size: a power of two, so that a response above the smallest size holds less than twice its
   * size.
   */
  readonly #spare = new Map<number, Chunk[]>();

  /**
   * An empty chunk with room for `byteLength` bytes. Prefers the one used last, which may still be
   * in the CPU cache.
   */
  take(byteLength: number): Chunk {
    const size = sizeFor(byteLength);
    return this.#spare.get(size)?.pop() ?? new Chunk(size);
  }

  /**
   * Takes back a chunk that was taken for `byteLength` bytes. Must be called at most once, and only
   * when the chunk is no longer read.
   */
  giveBack(chunk: Chunk, byteLength: number): void {
    const size = sizeFor(byteLength);
    const spare = this.#spare.get(size) ?? [];
    this.#spare.set(size, spare);
    if (spare.length < MOST_SPARE) spare.push(chunk.clear());
  }

  /**
   * Takes a chunk back when the operating system has taken the whole response. The chunk of a
   * response that is cut is dropped.
   */
  giveBackAfter(response: ServerResponse, chunk: Chunk, byteLength: number): void {
    response.once('finish', () => this.giveBack(chunk, byteLength));
  }
}

function sizeFor(byteLength: number): number {
  return Math.max(SMALLEST_BYTES, 2 ** Math.ceil(Math.log2(byteLength)));
}
