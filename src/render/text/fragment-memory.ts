/** The memory for the fragments of a dataset, from which they can be gathered (see `gather.ts`). */
import { MOST_PAGES, openSharedMemory, PAGE_BYTES, type SharedMemory } from './gather.ts';

/**
 * Below this number of records, the fragments stay in the cache of a core, and gathering would gain
 * little. Each memory reserves ten gigabytes of address space, and a process has room for only some
 * thousands of them.
 */
export const GATHERED_FROM_RECORDS = 1_000;

/**
 * Gathering reaches at most this far beyond the last fragment: a timestamp with the text that
 * follows it, and 32 bytes.
 */
const MARGIN_BYTES = 256;

export class FragmentMemory {
  readonly memory: SharedMemory;
  #end = 0;
  /** Start addresses of ranges that were given back, by size. */
  readonly #free = new Map<number, number[]>();

  constructor(memory: SharedMemory) {
    this.memory = memory;
  }

  /**
   * Allocates `bytes` bytes and returns their first address; undefined if the memory is exhausted.
   * Bytes that are not written take no physical memory. Ranges are freed with the dataset, or
   * reused after `giveBack`.
   */
  take(bytes: number): number | undefined {
    const again = this.#free.get(bytes)?.pop();
    if (again !== undefined) return again;
    const start = this.#end;
    const missing = start + bytes + MARGIN_BYTES - this.memory.buffer.byteLength;
    if (missing > 0 && !this.#grow(Math.ceil(missing / PAGE_BYTES))) return undefined;
    this.#end = start + bytes;
    return start;
  }

  /** The bytes that were allocated so far. */
  get takenBytes(): number {
    return this.#end;
  }

  /**
   * Makes a range available to the next `take` of the same size, because rendering into it has
   * failed.
   */
  giveBack(start: number, bytes: number): void {
    this.#free.set(bytes, [...(this.#free.get(bytes) ?? []), start]);
  }

  #grow(pages: number): boolean {
    if (this.memory.buffer.byteLength / PAGE_BYTES + pages > MOST_PAGES) return false;
    try {
      this.memory.grow(pages);
      return true;
    } catch (error) {
      // The system has no more memory; further fragments are placed elsewhere.
      if (error instanceof RangeError) return false;
      throw error;
    }
  }
}

/**
 * Returns undefined if there are too few records for it, or the system has no address space left.
 */
export function openFragmentMemory(records: number): FragmentMemory | undefined {
  if (records < GATHERED_FROM_RECORDS) return undefined;
  try {
    return new FragmentMemory(openSharedMemory());
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
