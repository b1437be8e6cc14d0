/** A copy in a DuckDB file. DuckDB allows one process at a time to open it for writing. */
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { AppError } from '../../domain/app-error.ts';
import type { CopyTarget } from '../copy-target.ts';
import { type CopyTable, TABLES } from '../tables.ts';
import type { CopyView, ViewDialect } from '../views.ts';
import { createTable, DUCKDB_OPTIONS, dropRepeated, duckdbWriting } from './duckdb-rows.ts';
import {
  commentsOn,
  POINTS_COLUMN,
  refusedBy,
  SELECT_STATE,
  STATE_COLUMNS,
  STATE_TABLE,
  stateOf,
  stateValues,
} from './sql.ts';
import { createView, type Relation, refuseOthers, viewsToMake } from './view-sql.ts';

/** Independent of the time zone of a session. */
const DIALECT: ViewDialect = {
  seconds: (instant) => `CAST(floor(epoch_us(${instant}) / 1000000) AS BIGINT)`,
  dayOf: (seconds) => `CAST(make_timestamp((${seconds}) * 1000000) AS DATE)`,
  day: (instant) => `CAST(make_timestamp(epoch_us(${instant})) AS DATE)`,
  each: (texts) => `unnest(${texts}) AS each(tag)`,
  element: 'tag',
};

/** Creates the file and its tables if they do not exist. Throws `copy-refused` and `copy-busy`. */
export async function openDuckdbTarget(path: string, views: readonly CopyView[]): Promise<CopyTarget> {
  const instance = await DuckDBInstance.create(path, DUCKDB_OPTIONS).catch((error: unknown) => {
    throw refusedBy('Cannot open the DuckDB file', error);
  });
  const connection = await instance.connect();
  const close = async () => {
    connection.closeSync();
    instance.closeSync();
  };
  try {
    refuseOthers(await relationsIn(connection), await stateColumnsIn(connection), views);
    await connection.run(`BEGIN; ${STATE_SQL} ${TABLES_SQL} COMMIT;`);
    for (const table of TABLES) await refuseOtherColumns(connection, table);
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
        refuseOthers(existing, await stateColumnsIn(connection), views);
        const before = stateOf((await connection.runAndReadAll(SELECT_STATE)).getRows()[0]);
        const state = await change(duckdbWriting(connection, cleared), before);
        for (const table of cleared) await connection.run(dropRepeated(table));
        for (const view of viewsToMake(existing, DIALECT, views))
          await connection.run(createView(view, DIALECT));
        await connection.run(`DELETE FROM ${STATE_TABLE}`);
        await connection.run(`INSERT INTO ${STATE_TABLE} VALUES ($1, $2, $3, $4, $5)`, stateValues(state));
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

const TABLES_SQL = TABLES.map((table) => createTable(table) + commentsOn('TABLE', table)).join(' ');
const STATE_SQL = `CREATE TABLE IF NOT EXISTS ${STATE_TABLE} (${STATE_COLUMNS.map((name) => `${name} VARCHAR`).join(', ')});
  ALTER TABLE ${STATE_TABLE} ADD COLUMN IF NOT EXISTS ${POINTS_COLUMN} VARCHAR;`;

/** Rows are appended by the place of their columns. */
async function refuseOtherColumns(connection: DuckDBConnection, { name, columns }: CopyTable): Promise<void> {
  const found = (await connection.runAndReadAll(`FROM ${name} LIMIT 0`)).columnNames();
  if (found.join() === columns.map((column) => column.name).join()) return;
  throw new AppError(
    'copy-refused',
    `The table "${name}" of the target has other columns than a copy. Keep your own in a different table, and use a new file.`,
  );
}

/** DuckDB does not distinguish upper and lower case in names. */
async function relationsIn(connection: DuckDBConnection): Promise<Relation[]> {
  const reader = await connection.runAndReadAll(
    `SELECT lower(table_name), comment FROM duckdb_tables() WHERE schema_name = 'main'
     UNION ALL SELECT lower(view_name), comment FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal`,
  );
  return reader.getRows().map(([name, comment]) => ({ name: String(name), comment: String(comment ?? '') }));
}

/** None if the table does not exist. */
async function stateColumnsIn(connection: DuckDBConnection): Promise<string[]> {
  const reader = await connection.runAndReadAll(
    `SELECT column_name FROM duckdb_columns() WHERE schema_name = 'main' AND table_name = '${STATE_TABLE}'`,
  );
  return reader.getRows().map(([name]) => String(name));
}
