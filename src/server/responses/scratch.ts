/**
 * Memory that small answers are rendered into, used again and again. Fresh memory for each of thousands a second would
 * have to be zeroed, and keeps the garbage collector busy: it marks everything there is for every 64 MB of buffers.
 */
import type { ServerResponse } from 'node:http';
import { Chunk } from '../../render/text/chunk.ts';

const SMALLEST_BYTES = 4096;
/** Of one size. More are needed only when so many small answers are under way at once. */
const MOST_SPARE = 32;

export class Scratch {
  /** By size: a power of two, so that an answer holds less than twice its size. */
  readonly #spare = new Map<number, Chunk[]>();

  /** An empty chunk with room for so many bytes, the one used last if there is one: it may still be near. */
  take(byteLength: number): Chunk {
    const size = sizeFor(byteLength);
    return this.#spare.get(size)?.pop() ?? new Chunk(size);
  }

  /** To be called at most once for a chunk that was taken for so many bytes, when nobody reads it any more. */
  giveBack(chunk: Chunk, byteLength: number): void {
    const size = sizeFor(byteLength);
    const spare = this.#spare.get(size) ?? [];
    this.#spare.set(size, spare);
    if (spare.length < MOST_SPARE) spare.push(chunk.clear());
  }

  /** Gives a chunk back when the system has taken all of the response; a response that is cut drops its chunk. */
  giveBackAfter(response: ServerResponse, chunk: Chunk, byteLength: number): void {
    response.once('finish', () => this.giveBack(chunk, byteLength));
  }
}

function sizeFor(byteLength: number): number {
  return Math.max(SMALLEST_BYTES, 2 ** Math.ceil(Math.log2(byteLength)));
}
