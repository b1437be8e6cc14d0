/**
 * The types of record fields: how each is read from a text cell or a JSON value, and why a value is
 * refused.
 */
import { parseIdentifier } from '../../domain/identifier.ts';
import { parseInstant } from '../../domain/instant.ts';
import { LONGEST_EMAIL } from '../../domain/record-text.ts';
import { quoted, shortened } from '../../domain/shortened-text.ts';
import { parseShaped } from './json-shape.ts';
import { Refusal } from './refusal.ts';

export interface Field<T> {
  /** The name of the type in documents and messages. */
  readonly type: string;
  /**
   * Returns `undefined` when no value is given: JSON `null`, or an empty cell unless the type is a
   * text or a list. `name` is the field name as written in the file; `isCell` marks `value` as a
   * text cell. Throws `Refusal`.
   */
  readonly read: (value: unknown, name: string, isCell: boolean) => T | undefined;
}

const TEXT_LENGTH = 65_536;
const TAGS = 1000;
/**
 * Bound of points: the sum of thousands of the largest is still exact in a `number`, and fits every
 * store.
 */
const LARGEST_INTEGER = 1_000_000_000_000;
const KIND = /^(?! )[^\p{C}\p{Zl}\p{Zp}.]{1,64}(?<! )$/u;
const INTEGER = /^-?\d+$/;

export const identifier: Field<bigint> = { type: 'identifier', read: readIdentifier };
export const instant: Field<number> = { type: 'instant', read: readInstant };
export const tags: Field<readonly string[]> = { type: 'tags', read: readTags };
export const email: Field<string> = { type: 'e-mail', read: readEmail };
export const kind: Field<string> = { type: 'kind', read: readKind };
export const integer: Field<number> = { type: 'integer', read: readInteger };
export const boolean: Field<boolean> = { type: 'boolean', read: readBoolean };
export const count: Field<number> = { type: 'integer, 0 or more', read: readCount };
export const text: Field<string> = textField('text', TEXT_LENGTH);
export const longText: Field<string> = textField('long text', 1_000_000);

function textField(type: string, longest: number): Field<string> {
  return { type, read: (value, name) => readText(value, name, longest) };
}

function readText(value: unknown, name: string, longest: number): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value !== 'string') throw new Refusal(name, `must be text, but is ${describe(value)}`);
  if (value.length > longest) {
    throw new Refusal(name, `must have at most ${longest} characters, but has ${value.length}`);
  }
  if (value.includes('\0')) throw new Refusal(name, 'must not contain a NUL character');
  if (!value.isWellFormed()) throw new Refusal(name, 'must not contain half of a surrogate pair');
  return value;
}

function readEmail(value: unknown, name: string, isCell: boolean): string | undefined {
  if (value === '' && isCell) return undefined;
  const address = readText(value, name, LONGEST_EMAIL);
  if (address === '') throw new Refusal(name, 'must not be empty');
  if (address !== undefined && (/\p{Cc}/u.test(address) || address !== address.trim())) {
    throw new Refusal(name, 'must not contain control characters, or begin or end with white space');
  }
  return address;
}

function readKind(value: unknown, name: string, isCell: boolean): string | undefined {
  if (value === '' && isCell) return undefined;
  const word = readText(value, name, TEXT_LENGTH);
  if (word !== undefined && !KIND.test(word)) {
    throw new Refusal(name, 'must be 1 to 64 printable characters without a full stop');
  }
  return word;
}

function readIdentifier(value: unknown, name: string, isCell: boolean): bigint | undefined {
  const digits = readDigits(value, name, isCell);
  if (digits === undefined) return undefined;
  const id = parseIdentifier(digits);
  if (id === undefined) throw new Refusal(name, `${shortened(digits)} exceeds 64 bits`);
  return id;
}

function readInteger(value: unknown, name: string, isCell: boolean): number | undefined {
  const digits = readDigits(isCell ? withoutFraction(value) : value, name, isCell);
  if (digits === undefined) return undefined;
  const number = Number(digits);
  if (Math.abs(number) <= LARGEST_INTEGER) return number;
  throw new Refusal(name, `${shortened(digits)} is outside -${LARGEST_INTEGER} to ${LARGEST_INTEGER}`);
}

/** Spreadsheets write 10 as `10.0` or `10,00`. Three zeros could be thousands. */
function withoutFraction(cell: unknown): unknown {
  return typeof cell === 'string' ? cell.replace(/(?<=^-?\d+)[.,]0{1,2}$/, '') : cell;
}

function readCount(value: unknown, name: string, isCell: boolean): number | undefined {
  const number = readInteger(value, name, isCell);
  if (number !== undefined && number < 0) throw new Refusal(name, `must be 0 or more, but is ${number}`);
  return number;
}

function readBoolean(value: unknown, name: string, isCell: boolean): boolean | undefined {
  if (value === null || value === undefined || (value === '' && isCell)) return undefined;
  if (value === true || value === 'true') return true;
  if (value === false || value === 'false') return false;
  throw new Refusal(
    name,
    `must be true or false, but is ${typeof value === 'string' ? quoted(value) : describe(value)}`,
  );
}

/** The digits of an integer of any size. */
function readDigits(value: unknown, name: string, isCell: boolean): string | undefined {
  if (value === null || value === undefined || (value === '' && isCell)) return undefined;
  if (typeof value === 'string') {
    if (INTEGER.test(value)) return value;
    throw new Refusal(name, value === '' ? 'must not be empty' : `${quoted(value)} is not an integer`);
  }
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return String(value);
  if (typeof value === 'number') throw new Refusal(name, 'must be an integer, without fraction or exponent');
  throw new Refusal(name, `must be an integer, but is ${describe(value)}`);
}

function readInstant(value: unknown, name: string, isCell: boolean): number | undefined {
  if (value === null || value === undefined || (value === '' && isCell)) return undefined;
  const digits = typeof value === 'string' ? value : readDigits(value, name, isCell);
  if (digits === undefined) return undefined;
  const instantMs = parseInstant(digits);
  if (instantMs === undefined) throw new Refusal(name, explainInstant(digits));
  return instantMs;
}

function explainInstant(written: string): string {
  if (INTEGER.test(written)) return `${shortened(written)} lies outside the years 1 to 9999`;
  if (parseInstant(`${written}Z`) !== undefined) {
    return `${quoted(written)} has no offset from UTC; write it as 2018-03-12T17:00:45.567+00:00`;
  }
  if (/^[+-]?\d{4,}-\d{2}-\d{2}[Tt ].*(?:[Zz]|[+-]\d{2}(?::?\d{2}){0,2})$/.test(written)) {
    return `${quoted(written)} is not a date and time of the calendar between the years 1 and 9999`;
  }
  if (parseInstant(`${written}T00:00Z`) !== undefined)
    return `${quoted(written)} is a day without a time; write it as ${written}T00:00:00+00:00`;
  return `${quoted(written)} is neither an ISO 8601 date-time with an offset, such as 2018-03-12T17:00:45+00:00, nor Unix milliseconds`;
}

function readTags(value: unknown, name: string, isCell: boolean): readonly string[] | undefined {
  if (value === null || value === undefined) return undefined;
  // Parquet files of the API contain tags as the text of a JSON array, and so do files made of
  // them.
  const isText = typeof value === 'string' && (isCell || value.startsWith('['));
  const list = isText ? readTagCell(value, name) : value;
  if (!Array.isArray(list)) throw new Refusal(name, `must be an array of strings, but is ${describe(list)}`);
  if (list.length > TAGS) throw new Refusal(name, `must have at most ${TAGS} tags, but has ${list.length}`);
  return list.map((tag: unknown) => {
    const word = readText(tag, name, TEXT_LENGTH);
    if (word === undefined) throw new Refusal(name, 'must be an array of strings, but contains null');
    return word;
  });
}

/** A JSON array, or texts separated by semicolons. */
function readTagCell(cell: string, name: string): unknown {
  if (!cell.startsWith('[')) {
    return cell
      .split(';')
      .map((tag) => tag.trim())
      .filter((tag) => tag !== '');
  }
  try {
    return parseShaped(cell, JSON.parse);
  } catch {
    throw new Refusal(name, 'begins like a JSON array, but is not one');
  }
}

function describe(value: unknown): string {
  if (Number.isNaN(value)) return 'a number with a fraction or an exponent';
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return shortened(String(value));
  if (typeof value === 'string') return quoted(value);
  return Array.isArray(value) ? 'an array' : 'an object';
}
