/**
 * Ways to sort, join and compare rows with long texts. DuckDB fails if the texts of a sort, a join
 * or an aggregate do not fit into its memory, even though it may write to disk: 2 GB in texts of
 * 8 kB fail in 768 MB.
 */
import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import {
  type CopiedTable,
  columnsOf,
  comparableColumns,
  quoted,
  type ThingTable,
} from '../version-tables.ts';
import { runRows } from './database.ts';

/** Sorting takes several times as much memory as the texts. */
const PORTION_BYTES = 16_000_000;
/** For joins, which take less memory, and whose other tables are read again for each portion. */
export const JOINED_BYTES = 64_000_000;

interface Divisible {
  /** A table, or a query in parentheses. */
  readonly source: string;
  /** An integer without nulls, by which the rows are sorted first. */
  readonly key: string;
  /** SQL for the bytes of the texts of a row. */
  readonly bytes: string;
}

/**
 * Conditions on the key, in its order, which together select every row. Each selects at most
 * `portionBytes` of text and the rows of one more key, because rows with the same key are not
 * divided. Only one, `true`, if there is less text.
 */
export async function portionsOf(
  read: (sql: string) => Promise<DuckDBValue[][]>,
  { source, key, bytes }: Divisible,
  portionBytes = PORTION_BYTES,
): Promise<readonly string[]> {
  const [[total] = []] = await read(`SELECT coalesce(sum(${bytes}), 0) FROM ${source}`);
  if (Number(total) <= portionBytes) return ['true'];
  const starts = await read(`
    WITH keys AS (SELECT ${key} AS key, sum(${bytes}) AS bytes FROM ${source} WHERE ${bytes} > 0 GROUP BY 1),
    places AS (SELECT key, (sum(bytes) OVER (ORDER BY key) - bytes) // ${portionBytes} AS portion FROM keys)
    SELECT min(key) FROM places GROUP BY portion ORDER BY 1`);
  return starts.map(([start], at) => {
    const from = at === 0 ? 'true' : `${key} >= ${start}`;
    const next = starts[at + 1];
    return next === undefined ? from : `${from} AND ${key} < ${next[0]}`;
  });
}

/** The same on a connection. */
export async function portionsIn(
  connection: DuckDBConnection,
  divisible: Divisible,
  portionBytes?: number,
): Promise<readonly string[]> {
  return await portionsOf((sql) => runRows(connection, sql), divisible, portionBytes);
}

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
