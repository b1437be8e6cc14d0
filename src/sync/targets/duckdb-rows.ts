/** The tables of a copy in DuckDB, and writing their rows. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { literal } from '../../domain/sql-literal.ts';
import type { CopyWriting } from '../copy-target.ts';
import type { CopyRow, CopyTable } from '../tables.ts';
import { type ColumnTypes, columnsOf, namesOf, quoted, typeOf } from './sql.ts';

export const DUCKDB_TYPES: ColumnTypes = {
  integer: 'BIGINT',
  text: 'VARCHAR',
  instant: 'TIMESTAMPTZ',
  texts: 'VARCHAR[]',
};
export const NO_EXTENSIONS = {
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
};

/**
 * Without a primary key: DuckDB refuses to add a key in the transaction that has deleted it. `put`
 * keeps keys unique.
 */
export function createTable(table: CopyTable): string {
  return `CREATE TABLE IF NOT EXISTS ${table.name} (${columnsOf(table, DUCKDB_TYPES).join(', ')});`;
}

/** `cleared` gets the tables that are filled again. */
export function duckdbWriting(connection: DuckDBConnection, cleared: Set<CopyTable>): CopyWriting {
  const remove = async (table: CopyTable, column: string, values: readonly string[]) => {
    if (values.length === 0) return;
    const sql = `DELETE FROM ${table.name} WHERE ${quoted(column)} IN (${parameterValues(table, column)})`;
    await connection.run(sql, [JSON.stringify(values)]);
  };
  return {
    async remove(table, column, values) {
      // Otherwise the row that a removed one has replaced would remain.
      if (values.length > 0 && cleared.has(table)) await connection.run(dropRepeated(table));
      await remove(table, column, values);
    },
    async clear(table) {
      await connection.run(`DELETE FROM ${table.name}`);
      cleared.add(table);
    },
    async put(table, rows) {
      if (rows.length === 0) return;
      // In a table that is filled again, `dropRepeated` finds repeated keys all at once.
      if (!cleared.has(table)) await remove(table, table.key, keysOf(table, rows));
      await connection.run(insertSql(table), [JSON.stringify(rows)]);
    },
  };
}

/** A query of the values of a column that are the first parameter, as a JSON array. */
export function parameterValues(table: CopyTable, column: string): string {
  return `SELECT unnest(from_json($1, '["${DUCKDB_TYPES[typeOf(table, column)]}"]')) AS value`;
}

export function keysOf({ key }: CopyTable, rows: readonly CopyRow[]): string[] {
  return rows.map((row) => String(row[key]));
}

function insertSql(table: CopyTable): string {
  const shape = JSON.stringify([
    Object.fromEntries(table.columns.map(({ name, type }) => [name, DUCKDB_TYPES[type]])),
  ]);
  return `INSERT INTO ${table.name} (${namesOf(table)})
    SELECT ${namesOf(table)} FROM (SELECT unnest(from_json($1, ${literal(shape)}), recursive := true))`;
}

/**
 * Keeps the last of the rows with the same key: a record that was corrected while its list was read
 * is in two pages.
 */
export function dropRepeated({ name, key }: CopyTable): string {
  return `DELETE FROM ${name} WHERE rowid NOT IN (SELECT max(rowid) FROM ${name} GROUP BY ${quoted(key)})`;
}
