/** Records as text: lines of NDJSON, and rows of CSV under a header. */
import { escapeLineEnds } from '../domain/json-text.ts';
import type { BundleRecord, RecordValue } from './records.ts';

/** What is absent is not written; integers are written digit for digit. */
export function ndjsonOf(records: readonly BundleRecord[]): string {
  const exact = (_name: string, value: unknown) =>
    typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value;
  return records.map((record) => `${escapeLineEnds(JSON.stringify(record, exact))}\n`).join('');
}

export function csvHeaderOf(fields: readonly string[]): string {
  return rowOf(fields);
}

/** What is absent is an empty cell; a list is a cell of JSON. */
export function csvOf(records: readonly BundleRecord[], fields: readonly string[]): string {
  return records.map((record) => rowOf(fields.map((field) => cellOf(record[field])))).join('');
}

function cellOf(value: RecordValue): string {
  return typeof value === 'object' ? escapeLineEnds(JSON.stringify(value)) : String(value ?? '');
}

function rowOf(cells: readonly string[]): string {
  const quoted = cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell));
  return `${quoted.join(',')}\r\n`;
}
