/** The tables of a copy in DuckDB, and writing their rows. */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { CopyWriting } from '../copy-target.ts';
import { type CopyRow, type CopyTable, keyReader } from '../tables.ts';
import { chunksOf } from './duckdb-chunks.ts';
import { type ColumnTypes, columnsOf, keyNames, quoted, typeOf } from './sql.ts';

export const DUCKDB_TYPES: ColumnTypes = {
  integer: 'BIGINT',
  text: 'VARCHAR',
  instant: 'TIMESTAMPTZ',
  texts: 'VARCHAR[]',
};
export const DUCKDB_OPTIONS = {
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
  // Otherwise most of the memory of the machine. Beyond it, DuckDB uses files beside the target.
  memory_limit: '256MB',
  // New rows are compressed and written as soon as a row group is complete, not in groups of five.
  write_buffer_row_group_count: '1',
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
      if (!cleared.has(table)) await remove(table, keyColumn(table), keysOf(table, rows));
      await append(connection, table, rows);
    },
  };
}

/** A query of the values of a column that are the first parameter, as a JSON array. */
export function parameterValues(table: CopyTable, column: string): string {
  return `SELECT unnest(from_json($1, '["${DUCKDB_TYPES[typeOf(table, column)]}"]')) AS value`;
}

export function keysOf(table: CopyTable, rows: readonly CopyRow[]): string[] {
  return rows.map(keyReader(table));
}

/** The key of a table whose rows are replaced one by one. */
export function keyColumn({ name, key }: CopyTable): string {
  const [column, ...others] = key;
  if (column === undefined || others.length > 0) throw new Error(`${name} has no key of one column`);
  return column;
}

/** An appender fills all columns in their order. */
async function append(
  connection: DuckDBConnection,
  table: CopyTable,
  rows: readonly CopyRow[],
): Promise<void> {
  const appender = await connection.createAppender(table.name);
  try {
    for (const chunk of chunksOf(table, rows)) appender.appendDataChunk(chunk);
  } finally {
    // An appender that stays open crashes the process when the database is closed.
    appender.closeSync();
  }
}

/**
 * Keeps the last of the rows with the same key: a record that was corrected while its list was read
 * is in two pages. Hardly any keys are repeated, and only these are joined with all rows.
 */
export function dropRepeated(table: CopyTable): string {
  const { name, key } = table;
  const keys = keyNames(table);
  const isSame = key.map((column) => `${name}.${quoted(column)} = repeated.${quoted(column)}`);
  return `DELETE FROM ${name} USING
    (SELECT ${keys}, max(rowid) AS last FROM ${name} GROUP BY ${keys} HAVING count(*) > 1) AS repeated
    WHERE ${isSame.join(' AND ')} AND ${name}.rowid < repeated.last`;
}
