/** Seeded randomness, so that every run generates the same bytes. Not for secrets. */

export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** An integer in [0, below), uniformly distributed. */
  below(below: number): number;
  /**
   * An integer in [0, below). Value k has a probability proportional to about 1 / (k + 1) (Zipf's
   * law, exponent 1).
   */
  skewed(below: number): number;
  pick<T>(values: readonly T[]): T;
}

/** The generator Mulberry32: 32 bits of state, period 2^32. */
export function makeRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    next,
    below,
    skewed: (limit) => Math.floor((limit + 1) ** next()) - 1,
    pick: (values) => {
      const value = values[below(values.length)];
      if (value === undefined) throw new RangeError('nothing to pick from');
      return value;
    },
  };
}
