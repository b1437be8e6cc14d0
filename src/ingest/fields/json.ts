/** Reads one JSON object exactly: integers of any size keep every digit (decision 3). */
import { parseShaped, tooDeep } from './json-shape.ts';
import { Refusal } from './refusal.ts';

/**
 * Members whose number may lose digits as a `number`: 16 digits or more, a fraction, an exponent.
 */
const DELICATE = /"\s*:\s*-?(?:\d{16}|\d+[.eE])/;
const INTEGER = /^-?\d+$/;
/**
 * Further digits are ignored: no field accepts an integer of as many, and converting millions of
 * them takes many seconds.
 */
const LONGEST_INTEGER = 1000;

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;
// The type of `JSON.parse` does not yet include the third argument of the reviver.
const parseExactly = JSON.parse as (text: string, reviver: Reviver) => unknown;

/**
 * Parses a JSON object. Integers beyond 2^53 are `bigint`. A number with a fraction or an exponent,
 * such as `1.0`, is `NaN`, because no field accepts one. Throws `Refusal`, also for a text that
 * nests too deeply or contains a member twice (decision 64).
 */
export function readObject(text: string): Readonly<Record<string, unknown>> {
  const value = readValue(text);
  if (!isObject(value)) throw new Refusal('', 'must be a JSON object');
  return value;
}

function readValue(text: string): unknown {
  try {
    return parseShaped(text, DELICATE.test(text) ? parseWithIntegers : JSON.parse);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    // `JSON.parse` with a reviver recurses once per level.
    if (error instanceof RangeError) throw tooDeep();
    throw new Refusal('', `is not valid JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function parseWithIntegers(text: string): unknown {
  return parseExactly(text, reviveNumber);
}

function reviveNumber(_key: string, value: unknown, { source }: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || source === undefined) return value;
  if (!INTEGER.test(source)) return Number.NaN;
  return Number.isSafeInteger(value) ? value : BigInt(source.slice(0, LONGEST_INTEGER));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
