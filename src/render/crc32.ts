/**
 * The checksum of two texts in a row from the checksums of each (CRC-32 of gzip). A checksum is a polynomial over
 * GF(2) modulo the one below; following bytes multiply it by a power of x.
 */

/** The polynomial of gzip with its bits reversed, as are all here: the sign stands for x^0. */
const POLYNOMIAL = 0xedb88320 | 0;
const X_TO_THE_8 = 0x00800000;

/** `x^(8 * 2^n)` at n, for every bit of a length. */
const POWERS = powersOfBytes();

/** `second` is the checksum of the text that follows, `secondBytes` its length, at most 2^53. */
export function combineCrc32(first: number, second: number, secondBytes: number): number {
  let moved = first;
  for (let left = secondBytes, bit = 0; left > 0; left = Math.floor(left / 2), bit++) {
    if (left % 2 === 1) moved = multiply(moved, POWERS[bit]!);
  }
  return (moved ^ second) >>> 0;
}

/** `left * right` modulo the polynomial. Without a branch: exports of unchanged data do this some ten times a piece. */
function multiply(left: number, right: number): number {
  let product = 0;
  let power = right;
  for (let rest = left | 0; rest !== 0; rest <<= 1) {
    product ^= power & (rest >> 31);
    // Times x: a shift, and the remainder where x^32 comes up.
    power = (power >>> 1) ^ (POLYNOMIAL & -(power & 1));
  }
  return product;
}

function powersOfBytes(): Int32Array {
  const powers = new Int32Array(54);
  powers[0] = X_TO_THE_8;
  for (let bit = 1; bit < powers.length; bit++) powers[bit] = multiply(powers[bit - 1]!, powers[bit - 1]!);
  return powers;
}
