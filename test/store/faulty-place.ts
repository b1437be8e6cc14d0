/** A place for chunks with faults that a seed decides. */
import { AppError } from '../../src/domain/app-error.ts';
import type { ChunkPlace } from '../../src/store/chunks/chunk-place.ts';
import type { MemoryPlace } from './memory-place.ts';

/** The probability of each fault, from 0 to 1. */
export interface Faults {
  readonly away: number;
  readonly damaged: number;
  readonly missing: number;
  /** A listing from before the last few changes. */
  readonly stale: number;
}

export const NO_FAULTS: Faults = { away: 0, damaged: 0, missing: 0, stale: 0 };

/**
 * Lies about the chunks of the wrapped place as real places sometimes do; stored chunks stay
 * stored.
 */
export class FaultyPlace implements ChunkPlace {
  readonly parallel = 4;
  faults: Faults = NO_FAULTS;
  readonly #place: MemoryPlace;
  readonly #random: () => number;
  /** The names before the last changes. */
  #earlier: readonly string[] = [];

  constructor(place: MemoryPlace, random: () => number) {
    this.#place = place;
    this.#random = random;
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    this.#earlier = [...this.#place.chunks.keys()];
    // A connection that is cut after the last byte: the chunk is stored, but the caller gets an
    // error.
    if (this.#happens('away') && this.#happens('away')) await this.#place.put(name, bytes);
    this.#mayBeAway();
    await this.#place.put(name, bytes);
  }

  async get(name: string): Promise<Uint8Array | undefined> {
    this.#mayBeAway();
    const bytes = await this.#place.get(name);
    if (bytes === undefined || this.#happens('missing')) return undefined;
    if (!this.#happens('damaged')) return bytes;
    const damaged = Buffer.from(bytes);
    damaged[Math.floor(this.#random() * damaged.length)]! ^= 1;
    return damaged;
  }

  async *list(prefix: string): AsyncGenerator<readonly string[]> {
    this.#mayBeAway();
    if (!this.#happens('stale')) return yield* this.#place.list(prefix);
    yield this.#earlier.filter((name) => name.startsWith(prefix));
  }

  async delete(names: readonly string[]): Promise<void> {
    this.#mayBeAway();
    this.#earlier = [...this.#place.chunks.keys()];
    await this.#place.delete(names);
  }

  async close(): Promise<void> {}

  #happens(fault: keyof Faults): boolean {
    return this.#random() < this.faults[fault];
  }

  #mayBeAway(): void {
    if (this.#happens('away')) throw new AppError('chunks-away', 'The place cannot be reached.');
  }
}
