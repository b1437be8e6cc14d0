/** JSON as the server writes it, with identifiers as texts, so that none loses a digit (decisions 3, 55). */

/**
 * An integer of 64 bits in decimal digits. A text, because a number rounds it beyond 2^53, and a `bigint` cannot be
 * written as JSON again.
 */
export type Id = string;

/** What is taken for an identifier; a number only as far as it is exact. */
export type IdInput = string | number | bigint;

// A quote inside a text is written \" there, so nothing but a member of this name can look so. `user` is the member of
// what is forgotten, `actor` and `owner` of who acts on whose things; nowhere else do they hold a number.
const IDENTIFIERS = /"((?:[a-z]+_)?id|user|actor|owner)"\s*:\s*(-?\d+)/g;

/** Throws `SyntaxError`. Takes half the time of a reviver, to which not every runtime gives the source of a number. */
export function parseExact<T>(text: string): T {
  return JSON.parse(text.replace(IDENTIFIERS, '"$1":"$2"'));
}

/** Throws `TypeError`. */
export function idText(id: IdInput): string {
  const isExact = typeof id !== 'number' || Number.isSafeInteger(id);
  if (isExact && /^-?\d+$/.test(String(id))) return String(id);
  throw new TypeError('An identifier has to be an integer: a bigint, its digits as text, or a safe number.');
}
