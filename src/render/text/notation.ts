/**
 * Values as text: members of a JSON object without whitespace, and cells of a CSV row (RFC 4180),
 * with a variant for spreadsheets.
 */
import { defuse } from '../../domain/formula.ts';
import { escapeLineEnds } from '../../domain/json-text.ts';
import type { FieldColumn, FieldColumns } from './fields.ts';

/** How values are written. NDJSON is written as JSON; only the texts around its items differ. */
export type Notation = 'json' | TableNotation;
/** `excel`: CSV in which no cell is a formula for a spreadsheet (decision 65). */
export type TableNotation = 'csv' | 'excel';

/** The fields of the record at an index: `"id":7,"title":"Wood"`, or `7,Wood`. */
export function renderFields<Name extends string>(
  notation: Notation,
  fields: readonly Name[],
  columns: FieldColumns<Name>,
  index: number,
): string {
  const texts: string[] = [];
  for (const name of fields) {
    const column = columns[name];
    texts.push(
      notation === 'json' ? `"${name}":${renderJson(column, index)}` : renderCell(notation, column, index),
    );
  }
  return texts.join(',');
}

/**
 * A field as JSON: integers with all digits, also beyond 2^53 (decision 3); strings without raw
 * line ends (decision 70).
 */
export function renderJson(column: FieldColumn, index: number): string {
  if (column instanceof BigInt64Array) return String(column[index]);
  const text = column.at(index);
  return column.isJson ? text : escapeLineEnds(JSON.stringify(text));
}

/** The fields of a record by name. */
export type Described = Readonly<Record<string, unknown>> & { readonly id: bigint };

/** The fields of a record as an object, for `jsonAnswer`. */
export function describe<Name extends string>(
  fields: readonly Name[],
  columns: FieldColumns<Name> & { readonly id: BigInt64Array },
  index: number,
): Described {
  const values = fields.map((name) => [name, readField(columns[name], index)]);
  return { id: columns.id[index]!, ...Object.fromEntries(values) };
}

function readField(column: FieldColumn, index: number): unknown {
  if (column instanceof BigInt64Array) return column[index];
  return column.isJson ? JSON.parse(column.at(index)) : column.at(index);
}

/** A list is written as a JSON array in one cell. */
function renderCell(notation: TableNotation, column: FieldColumn, index: number): string {
  return column instanceof BigInt64Array ? String(column[index]) : renderTextCell(notation, column.at(index));
}

/** Quotes a cell only if a reader would misread it otherwise. */
export function renderTextCell(notation: TableNotation, plain: string): string {
  const text = notation === 'excel' ? defuse(plain) : plain;
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
