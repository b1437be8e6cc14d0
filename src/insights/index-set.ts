/**
 * A set of indices of users, boards or pins, as bits: with millions of indices it still fits into
 * the cache of a core. A count looks up an index for each event, and in memory that is not in a
 * cache, this takes longer than everything else.
 */
import { inSlices } from '../system/time-slice.ts';

const BITS = 32;

export class IndexSet {
  /** Bit `i` of all of them says whether index `i` is in the set. */
  readonly words: Int32Array;

  /** For indices below `size`. */
  constructor(size: number) {
    this.words = new Int32Array(Math.ceil(size / BITS));
  }

  has(index: number): boolean {
    return (this.words[index >>> 5]! & (1 << (index & 31))) !== 0;
  }

  /** Returns whether the index is new. */
  add(index: number): boolean {
    const bit = 1 << (index & 31);
    const word = this.words[index >>> 5]!;
    if ((word & bit) !== 0) return false;
    this.words[index >>> 5] = word | bit;
    return true;
  }

  remove(index: number): void {
    this.words[index >>> 5]! &= ~(1 << (index & 31));
  }

  clear(): void {
    this.words.fill(0);
  }
}

/** The number of indices in at least one of the sets, all for the same indices. */
export async function sizeOfUnion(sets: readonly Int32Array[]): Promise<number> {
  const [first, ...others] = sets;
  let size = 0;
  await inSlices(0, first!.length, (from, to) => {
    for (let at = from; at < to; at++) {
      let word = first![at]!;
      for (const other of others) word |= other[at]!;
      size += bitsIn(word);
    }
  });
  return size;
}

/** The number of bits of a word that are 1: first of each pair of bits, then of each four, … */
function bitsIn(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  const bytes = (fours + (fours >>> 4)) & 0x0f0f0f0f;
  return Math.imul(bytes, 0x01010101) >>> 24;
}
