/** Where the fragments of a dataset lie, so that they can be gathered from there (see `gather.ts`). */
import { MOST_PAGES, openSharedMemory, PAGE_BYTES, type SharedMemory } from './gather.ts';

/**
 * Fewer records stay in a core's own cache, and gathering them would gain little. Each memory reserves ten gigabytes of
 * addresses, of which a process has room for some thousands.
 */
export const GATHERED_FROM_RECORDS = 1_000;

/** Gathering reaches so far beyond the last fragment, at most: a timestamp with what follows it, and 32 bytes. */
const MARGIN_BYTES = 256;

export class FragmentMemory {
  readonly memory: SharedMemory;
  #end = 0;
  /** What was given back, by size. */
  readonly #free = new Map<number, number[]>();

  constructor(memory: SharedMemory) {
    this.memory = memory;
  }

  /**
   * The first address of so many bytes that nobody else has; absent when all is given. What is not written takes no
   * memory; the rest goes with the dataset, or is given back.
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

  /** For whoever takes as many bytes next: what was to be made there has failed. */
  giveBack(start: number, bytes: number): void {
    this.#free.set(bytes, [...(this.#free.get(bytes) ?? []), start]);
  }

  #grow(pages: number): boolean {
    if (this.memory.buffer.byteLength / PAGE_BYTES + pages > MOST_PAGES) return false;
    try {
      this.memory.grow(pages);
      return true;
    } catch (error) {
      // The system has no more; then fragments lie elsewhere, too.
      if (error instanceof RangeError) return false;
      throw error;
    }
  }
}

/** Absent when so many records are not worth it, or the system has no addresses left. */
export function openFragmentMemory(records: number): FragmentMemory | undefined {
  if (records < GATHERED_FROM_RECORDS) return undefined;
  try {
    return new FragmentMemory(openSharedMemory());
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
