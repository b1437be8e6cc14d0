/** SQL for the bytes of texts, and for comparing rows without their long texts. */
import {
  type CopiedTable,
  columnsOf,
  comparableColumns,
  quoted,
  type ThingTable,
} from '../version-tables.ts';

/** Longer texts are compared by their digests, which are longer than all other texts. */
const LONGEST_COMPARED = 63;

/** SQL for a text that is equal for equal texts only, and has at most 64 bytes. */
export function textOrDigest(text: string): string {
  return `CASE WHEN strlen(${text}) > ${LONGEST_COMPARED} THEN sha256(${text}) ELSE ${text} END`;
}

/** The fields by which records of two versions are compared, each with SQL for what is compared. */
export function comparedFields(
  table: ThingTable,
  row: string,
): readonly (readonly [column: string, sql: string])[] {
  const texts = new Set(textColumns(table));
  return comparableColumns(table).map((column) => {
    const value = `${row}.${column}`;
    return [column, texts.has(column) ? textOrDigest(value) : value];
  });
}

function textColumns(table: CopiedTable): readonly string[] {
  return columnsOf(table).flatMap(({ name, type }) => (type === 'text' ? [quoted(name)] : []));
}

/** SQL for the bytes of all texts of a row of a table, in UTF-8. */
export function bytesOfRow(table: CopiedTable): string {
  return bytesOfTexts(textColumns(table));
}

/** SQL for the bytes of texts, in UTF-8. */
export function bytesOfTexts(columns: readonly string[]): string {
  return columns.map((column) => `coalesce(strlen(${column}), 0)`).join(' + ');
}
