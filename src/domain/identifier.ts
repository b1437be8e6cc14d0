/**
 * Identifiers are signed 64-bit integers, kept as `bigint` so that every digit survives
 * (decision 3).
 */
const SMALLEST_IDENTIFIER = -(2n ** 63n);
const LARGEST_IDENTIFIER = 2n ** 63n - 1n;

/**
 * Returns undefined unless the text is decimal digits with an optional minus sign, within 64 bits.
 */
export function parseIdentifier(text: string): bigint | undefined {
  if (!/^-?\d{1,40}$/.test(text)) return undefined;
  const value = BigInt(text);
  return value < SMALLEST_IDENTIFIER || value > LARGEST_IDENTIFIER ? undefined : value;
}
