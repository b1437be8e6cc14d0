/**
 * Collection of shared memory that is no longer used. The garbage collector of the runtime does not
 * count shared memory. Without a hint it would have no reason to run and would keep gigabytes of
 * closed versions.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** As much as the collector lets accumulate of the memory that it does count. */
const TOLERATED_BYTES = 64 * 1024 * 1024;
const PAUSE_MS = 1000;

export class MemoryReclaimer {
  readonly #collect: () => void;
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(collect: () => void) {
    this.#collect = collect;
  }

  /**
   * Reports that `bytes` more bytes are no longer used. Once `TOLERATED_BYTES` have accumulated,
   * they are collected after `PAUSE_MS`, so at most once per second.
   */
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

/** Runs a major collection of this thread, mostly concurrently with the program. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect({ type: 'major', execution: 'async' });
}

/**
 * Frees memory immediately. Tens of megabytes that compressors leave behind would otherwise wait
 * for the garbage collector. The bytes must not be used afterwards. Does nothing to shared memory
 * and to the pool of small buffers.
 */
export function release({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength > Buffer.poolSize) buffer.transfer(0);
}
