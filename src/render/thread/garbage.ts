/**
 * Shared memory that nobody uses any more. The runtime's collector does not count it: without being told, it would see
 * no reason to run, and keep gigabytes of versions that are gone.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** As much as the collector lets pile up of memory that it does count. */
const TOLERATED_BYTES = 64 * 1024 * 1024;
const PAUSE_MS = 1000;

export class Garbage {
  readonly #collect: () => void;
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(collect: () => void) {
    this.#collect = collect;
  }

  /** So many bytes more have been let go of. They are given back soon, at most once a second. */
  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes < TOLERATED_BYTES) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#bytes = 0;
      this.#collect();
    }, PAUSE_MS).unref();
  }
}

/** Runs the collector of this thread; a tenth of a second for a heap of 100 MB, mostly beside the program. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect({ type: 'major', execution: 'async' });
}

/**
 * Gives memory back at once: what compressors leave behind would else wait for the collector, tens of megabytes of
 * it. Nobody may use the bytes any more. Does nothing to memory that is shared, and to the pool of small buffers.
 */
export function release({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength > Buffer.poolSize) buffer.transfer(0);
}
