/** Summary statistics. */

/**
 * The percentile by the nearest-rank method; `share` is from 0 to 1. The values must be ascending.
 * Throws `RangeError` if there are none.
 */
export function percentile(ascending: Float64Array, share: number): number {
  const rank = Math.max(1, Math.ceil(share * ascending.length));
  const value = ascending[rank - 1];
  if (value === undefined) throw new RangeError('no values');
  return value;
}

/** The middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const ascending = Float64Array.from(values).sort();
  const middle = ascending.length / 2;
  const upper = ascending[Math.floor(middle)];
  const lower = ascending[Math.ceil(middle) - 1];
  if (upper === undefined || lower === undefined) throw new RangeError('no values');
  return (lower + upper) / 2;
}
