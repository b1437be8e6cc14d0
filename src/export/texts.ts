/** Records as text: lines of NDJSON, and rows of CSV below a header. */
import { escapeLineEnds } from '../domain/json-text.ts';
import type { BundleRecord, RecordValue } from './records.ts';

/** Absent values are omitted. Integers of any size are written with all digits. */
export function ndjsonOf(records: readonly BundleRecord[]): string {
  const exact = (_name: string, value: unknown) =>
    typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value;
  return records.map((record) => `${escapeLineEnds(JSON.stringify(record, exact))}\n`).join('');
}

export function csvHeaderOf(fields: readonly string[]): string {
  return rowOf(fields);
}

/** An absent value is an empty cell. A list is a cell with a JSON array. */
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
