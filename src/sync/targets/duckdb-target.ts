/** A copy in a DuckDB file. DuckDB allows one process at a time to open it for writing. */
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { literal } from '../../domain/sql-literal.ts';
import type { CopyTarget, CopyWriting } from '../copy-target.ts';
import { type CopyRow, type CopyTable, TABLES } from '../tables.ts';
import type { ViewDialect } from '../views.ts';
import {
  type ColumnTypes,
  columnsOf,
  commentsOn,
  namesOf,
  quoted,
  refusedBy,
  SELECT_STATE,
  STATE_COLUMNS,
  STATE_TABLE,
  stateOf,
  stateValues,
  typeOf,
} from './sql.ts';
import { type Relation, refuseOthers, viewSql, viewsToMake } from './view-sql.ts';

const TYPES: ColumnTypes = { integer: 'BIGINT', text: 'VARCHAR', instant: 'TIMESTAMPTZ', texts: 'VARCHAR[]' };
/** Independent of the time zone of a session. */
const DIALECT: ViewDialect = {
  day: (instant) => `CAST(make_timestamp(epoch_us(${instant})) AS DATE)`,
  each: (texts) => `unnest(${texts}) AS each(tag)`,
  element: 'tag',
};
const NO_EXTENSIONS = { autoinstall_known_extensions: 'false', autoload_known_extensions: 'false' };

/** Creates the file and its tables if they do not exist. Throws `copy-refused`. */
export async function openDuckdbTarget(path: string): Promise<CopyTarget> {
  const instance = await DuckDBInstance.create(path, NO_EXTENSIONS).catch((error: unknown) => {
    throw refusedBy('Cannot open the DuckDB file', error);
  });
  const connection = await instance.connect();
  const close = async () => {
    connection.closeSync();
    instance.closeSync();
  };
  try {
    refuseOthers(await relationsIn(connection));
    await connection.run(TABLES.map(tableSql).join('') + STATE_SQL);
  } catch (error) {
    await close();
    throw refusedBy('Cannot use the DuckDB file', error);
  }
  return {
    async transact(change) {
      const cleared = new Set<CopyTable>();
      await connection.run('BEGIN');
      try {
        const existing = await relationsIn(connection);
        refuseOthers(existing);
        const before = stateOf((await connection.runAndReadAll(SELECT_STATE)).getRows()[0]);
        const state = await change(writingOf(connection, cleared), before);
        for (const table of cleared) await connection.run(dropRepeated(table));
        for (const view of viewsToMake(existing, DIALECT)) await connection.run(viewSql(view, DIALECT));
        await connection.run(`DELETE FROM ${STATE_TABLE}`);
        await connection.run(`INSERT INTO ${STATE_TABLE} VALUES ($1, $2, $3, $4)`, stateValues(state));
        await connection.run('COMMIT');
      } catch (error) {
        // A statement that failed has already ended the transaction.
        await connection.run('ROLLBACK').catch(() => undefined);
        throw error;
      }
    },
    close,
  };
}

const STATE_SQL = `CREATE TABLE IF NOT EXISTS ${STATE_TABLE} (${STATE_COLUMNS.map((name) => `${name} VARCHAR`).join(', ')});`;

/**
 * Without a primary key: DuckDB refuses to add a key in the transaction that has deleted it. `put`
 * keeps keys unique.
 */
function tableSql(table: CopyTable): string {
  return `CREATE TABLE IF NOT EXISTS ${table.name} (${columnsOf(table, TYPES).join(', ')}); ${commentsOn('TABLE', table)}`;
}

/** DuckDB does not distinguish upper and lower case in names. */
async function relationsIn(connection: DuckDBConnection): Promise<Relation[]> {
  const reader = await connection.runAndReadAll(
    `SELECT lower(table_name), comment FROM duckdb_tables() WHERE schema_name = 'main'
     UNION ALL SELECT lower(view_name), comment FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal`,
  );
  return reader.getRows().map(([name, comment]) => ({ name: String(name), comment: String(comment ?? '') }));
}

/** `cleared` gets the tables that are filled again. */
function writingOf(connection: DuckDBConnection, cleared: Set<CopyTable>): CopyWriting {
  const remove = async (table: CopyTable, column: string, values: readonly string[]) => {
    if (values.length === 0) return;
    const list = `from_json($1, '["${TYPES[typeOf(table, column)]}"]')`;
    const sql = `DELETE FROM ${table.name} WHERE ${quoted(column)} IN (SELECT unnest(${list}))`;
    await connection.run(sql, [JSON.stringify(values)]);
  };
  return {
    remove,
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

function keysOf({ key }: CopyTable, rows: readonly CopyRow[]): string[] {
  return rows.map((row) => String(row[key]));
}

function insertSql(table: CopyTable): string {
  const shape = JSON.stringify([
    Object.fromEntries(table.columns.map(({ name, type }) => [name, TYPES[type]])),
  ]);
  return `INSERT INTO ${table.name} (${namesOf(table)})
    SELECT ${namesOf(table)} FROM (SELECT unnest(from_json($1, ${literal(shape)}), recursive := true))`;
}

/**
 * Keeps the last of the rows with the same key: a record that was corrected while its list was read
 * is in two pages.
 */
function dropRepeated({ name, key }: CopyTable): string {
  return `DELETE FROM ${name} WHERE rowid NOT IN (SELECT max(rowid) FROM ${name} GROUP BY ${quoted(key)})`;
}
