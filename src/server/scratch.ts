/**
 * Memory that small answers are rendered into, used again and again. Fresh memory for each of thousands a second would
 * have to be zeroed, and keeps the garbage collector busy: it marks everything there is for every 64 MB of buffers.
 */
import type { ServerResponse } from 'node:http';
import { Chunk } from '../render/chunk.ts';

/** More are needed only when so many small answers are under way at once. */
const MOST_SPARE = 32;

export class Scratch {
  readonly #chunkBytes: number;
  readonly #spare: Chunk[] = [];

  constructor(chunkBytes: number) {
    this.#chunkBytes = chunkBytes;
  }

  /** An empty chunk, the one used last if there is one: it may still be near. */
  take(): Chunk {
    return this.#spare.pop() ?? new Chunk(this.#chunkBytes);
  }

  /** To be called at most once for a chunk, when nobody reads it any more. */
  giveBack(chunk: Chunk): void {
    if (this.#spare.length < MOST_SPARE) this.#spare.push(chunk.clear());
  }

  /** Gives a chunk back when the system has taken all of the response; a response that is cut drops its chunk. */
  giveBackAfter(response: ServerResponse, chunk: Chunk): void {
    response.once('finish', () => this.giveBack(chunk));
  }
}
