/**
 * Limits on the shape of any JSON text (decision 64): nesting is bounded, and an object must not
 * contain a member twice. `json.ts` reads the values.
 */
import { Refusal } from './refusal.ts';

/** Maximum nesting of arrays and objects, the record included. */
const DEEPEST = 64;
/**
 * A text up to this length cannot take much memory, however deeply it nests, so it can be parsed
 * before it is checked.
 */
const SHORT_CHARACTERS = 65_536;

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/**
 * Parses a text with `parse`, which throws the errors of `JSON.parse`. Throws `Refusal` when the
 * text nests too deeply or contains a member twice.
 */
export function parseShaped(text: string, parse: (text: string) => unknown): unknown {
  const isLong = text.length > SHORT_CHARACTERS;
  if (isLong) checkShape(text);
  const value = parse(text);
  // `parse` keeps only the last of two members with one name, so the value has fewer names.
  if (!isLong && countMembers(value, 1) !== countNames(text)) checkShape(text);
  return value;
}

export function tooDeep(): Refusal {
  return new Refusal('', `is nested more than ${DEEPEST} levels deep`);
}

/** The number of members in all objects of a value. Throws `Refusal` when it nests too deeply. */
function countMembers(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (depth > DEEPEST) throw tooDeep();
  let count = 0;
  if (Array.isArray(value)) {
    for (const element of value) count += countMembers(element, depth + 1);
    return count;
  }
  for (const name in value) {
    count += 1 + countMembers((value as Readonly<Record<string, unknown>>)[name], depth + 1);
  }
  return count;
}

/**
 * The number of member names in a text; too high if the text has strings that begin with a colon.
 */
function countNames(text: string): number {
  let count = 0;
  for (let at = text.indexOf(':'); at !== -1; at = text.indexOf(':', at + 1)) {
    let before = at - 1;
    while (text.charCodeAt(before) <= SPACE) before -= 1;
    if (text.charCodeAt(before) === QUOTE && !isEscaped(text, before)) count += 1;
  }
  return count;
}

/**
 * Throws the `Refusal` of the first violation of the limits. Does not check whether the text is
 * valid JSON.
 */
function checkShape(text: string): void {
  /** The names found so far in each open object; undefined for an array. */
  const open: (Set<string> | undefined)[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfString(text, at);
      const names = open.at(-1);
      if (names !== undefined && isName(text, end)) addName(names, text.slice(at, end));
      at = end - 1;
    } else if (code === OPENING_BRACE || code === OPENING_BRACKET) {
      if (open.length === DEEPEST) throw tooDeep();
      open.push(code === OPENING_BRACE ? new Set() : undefined);
    } else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) open.pop();
  }
}

function addName(names: Set<string>, written: string): void {
  const name: string = written.includes('\\') ? JSON.parse(written) : written.slice(1, -1);
  if (names.has(name)) throw new Refusal(name, 'is given twice');
  names.add(name);
}

/** Whether a colon follows the string that ends at `end`. */
function isName(text: string, end: number): boolean {
  let at = end;
  while (text.charCodeAt(at) <= SPACE) at += 1;
  return text.charCodeAt(at) === COLON;
}

/**
 * The position after the closing quote of the string that begins at `from`; the end of the text if
 * the string is not closed.
 */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    if (!isEscaped(text, at)) return at + 1;
  }
  return text.length;
}

/** Whether an odd number of backslashes precedes the quote. */
function isEscaped(text: string, quote: number): boolean {
  let before = quote - 1;
  while (text.charCodeAt(before) === BACKSLASH) before -= 1;
  return (quote - before) % 2 === 0;
}

/** An element of an array or a member of an object, as written in the text. */
interface JsonPart {
  /** Undefined for an element of an array. */
  readonly name: string | undefined;
  readonly text: string;
}

/**
 * The elements of an array or the members of an object, as written; undefined when the text is
 * neither, or is not closed. Does not check whether they are valid JSON.
 */
export function partsOf(text: string): readonly JsonPart[] | undefined {
  const parts: JsonPart[] = [];
  let depth = 0;
  let name: string | undefined;
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code <= SPACE) continue;
    if (depth === 0 && code !== OPENING_BRACE && code !== OPENING_BRACKET) return undefined;
    if (code === QUOTE) at = endOfString(text, at) - 1;
    else if (code === OPENING_BRACE || code === OPENING_BRACKET) {
      depth += 1;
      if (depth === 1) from = at + 1;
    } else if (code === COLON && depth === 1) {
      name = text.slice(from, at).trim().slice(1, -1);
      from = at + 1;
    } else if (depth === 1 && (code === COMMA || code === CLOSING_BRACE || code === CLOSING_BRACKET)) {
      const written = text.slice(from, at).trim();
      if (written !== '' || code === COMMA) parts.push({ name, text: written });
      [name, from] = [undefined, at + 1];
      if (code !== COMMA) return text.slice(from).trim() === '' ? parts : undefined;
    } else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) depth -= 1;
  }
  return undefined;
}
