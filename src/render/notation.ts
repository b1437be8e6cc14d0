/**
 * Values as text: members of a JSON object without whitespace, and cells of a CSV row (RFC 4180),
 * also for spreadsheets.
 */
import { escapeLineEnds } from '../json-text.ts';
import type { Fields, Value } from './fields.ts';

/** How text is written. NDJSON is written as JSON; only what stands around its items differs. */
export type Notation = 'json' | TableNotation;
/** `excel`: CSV in which no cell is a formula for a spreadsheet (decision 65). */
export type TableNotation = 'csv' | 'excel';

/** The fields of a record: `"id":7,"title":"Wood"`, or `7,Wood`. */
export function renderFields<R>(notation: Notation, fields: Fields<R>, record: R): string {
  const texts: string[] = [];
  for (const name in fields) {
    const value = fields[name]!(record);
    texts.push(notation === 'json' ? `"${name}":${renderJson(value)}` : renderCell(value, notation));
  }
  return texts.join(',');
}

/** Names of the columns, in the order of `renderFields`. */
export function renderNames<R>(fields: Fields<R>, prefix = ''): string {
  return Object.keys(fields)
    .map((name) => prefix + name)
    .join(',');
}

/** Integers digit for digit, also beyond 2^53 (decision 3); no text has a line end (decision 70). */
export function renderJson(value: Value): string {
  return typeof value === 'bigint' ? value.toString() : escapeLineEnds(JSON.stringify(value));
}

/** What `renderFields` has written as JSON, as an object again: with all digits of the id, which comes first. */
export function parseFields<R extends { readonly id: bigint }>(text: string): R {
  const [, id = ''] = /^\{"id":(-?\d+)/.exec(text) ?? [];
  const fields: R = JSON.parse(text);
  return Object.assign(fields, { id: BigInt(id) });
}

/** Quoted only where a reader would otherwise see something else. A list is a JSON array in its cell. */
function renderCell(value: Value, notation: TableNotation): string {
  const plain = typeof value === 'string' ? value : renderJson(value);
  const text = notation === 'excel' && typeof value !== 'bigint' ? defuse(plain) : plain;
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * The start of a formula: a sign, which may be full-width, at the beginning of the text or after a
 * separator of any locale, with or without spaces before it. Runs in linear time.
 */
const BEFORE_FORMULA = /(^|[,;"\t\r\n])(?= *[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

/** Puts an apostrophe before formulas, and before a tab or line break at the beginning. */
function defuse(text: string): string {
  return text.replace(BEFORE_FORMULA, "$1'").replace(/^(?=[\t\r\n])/, "'");
}
