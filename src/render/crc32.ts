/**
 * The checksum of two texts in a row from the checksums of each (CRC-32 of gzip). A checksum is a polynomial over
 * GF(2) modulo the one below; following bytes multiply it by a power of x.
 */

/** The polynomial of gzip with its bits reversed: the highest bit stands for x^0. */
const POLYNOMIAL = 0xedb88320;
const ONE = 0x80000000;

/** `second` is the checksum of the text that follows, `secondBytes` its length, at most 2^53. */
export function combineCrc32(first: number, second: number, secondBytes: number): number {
  return (multiply(powerOfX(8 * secondBytes), first) ^ second) >>> 0;
}

/** `left * right` modulo the polynomial, both with their bits reversed. */
function multiply(left: number, right: number): number {
  let product = 0;
  let power = right;
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if (left & bit) product ^= power;
    // Times x: a shift, and the remainder where x^32 comes up.
    power = power & 1 ? (power >>> 1) ^ POLYNOMIAL : power >>> 1;
  }
  return product >>> 0;
}

/** `x^exponent` modulo the polynomial, by squaring. */
function powerOfX(exponent: number): number {
  let result = ONE;
  let square = ONE >>> 1;
  for (let left = exponent; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result = multiply(square, result);
    square = multiply(square, square);
  }
  return result;
}
