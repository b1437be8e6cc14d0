/** Parses JSON of the server with identifiers as strings, so all digits stay (decisions 3, 55). */

/**
 * A 64-bit integer in decimal digits. A string, because a number rounds it beyond 2^53 and
 * `JSON.stringify` does not accept a `bigint`.
 */
export type Id = string;

/** An identifier as an argument; a number must be a safe integer. */
export type IdInput = string | number | bigint;

// A quote inside a JSON string is escaped (\"), so only a member with this name can match. `user`
// is a number only in erasures, `actor` and `owner` only in interactions between users.
const IDENTIFIERS = /"((?:[a-z]+_)?id|user|actor|owner)"\s*:\s*(-?\d+)/g;

/**
 * Throws `SyntaxError`. Faster than a reviver; besides, not every runtime passes the source text of
 * a number to a reviver.
 */
export function parseExact<T>(text: string): T {
  return JSON.parse(text.replace(IDENTIFIERS, '"$1":"$2"'));
}

/** Throws `TypeError`. */
export function idText(id: IdInput): string {
  const isExact = typeof id !== 'number' || Number.isSafeInteger(id);
  if (isExact && /^-?\d+$/.test(String(id))) return String(id);
  throw new TypeError('An identifier must be an integer: a bigint, a string of digits, or a safe integer.');
}
