/**
 * The row order of the large tables. DuckDB keeps the smallest and largest value of each row group,
 * so ordered rows let it read only the row groups that can match a query. Each publication appends
 * its rows, sorted among themselves. When the appended rows exceed a sixteenth of a table, the
 * whole table is sorted again.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { text } from '../../stored-values.ts';
import { VERSION_TABLES } from '../../version-tables.ts';
import { runRows, type StatementParameters } from '../database.ts';
import { bytesOfRow } from '../long-texts.ts';
import { portionsIn } from '../portions.ts';

const ORDERS = {
  events: 'timestamp_ms',
  board_events: 'board, timestamp_ms',
  actor_events: 'actor, timestamp_ms',
  board_people: 'board, person',
  awards: 'board, person',
  standings: 'board, person',
} as const;

/** All columns of the tables whose rows are replaced. */
const REPLACED_COLUMNS = {
  board_people: Object.keys(VERSION_TABLES.board_people.columns).join(', '),
  standings: Object.keys(VERSION_TABLES.standings.columns).join(', '),
} as const;

type OrderedTable = keyof typeof ORDERS;

/** All events, and the copies in the order of boards and of actors. */
export const EVENT_TABLES = ['events', 'board_events', 'actor_events'] as const;

/**
 * Every query reads all rows that are out of order, so their share must be small; a smaller share
 * means more rewriting.
 */
const SHARE_OUT_OF_ORDER = 1 / 16;

/** Returns a query for the rows to read of a table with `board` and `person`. */
export type RowFilter = (table: string) => string;

export const allRows: RowFilter = (table) => table;

/**
 * The rows of a table whose board and user are a pair in the table `pairs`. Boards are compared
 * first, which is faster, and mostly leaves few rows.
 */
export function rowsOfPairs(pairs: string, table: string, columns = '*'): string {
  return `(
    WITH of_boards AS MATERIALIZED (
      SELECT ${columns} FROM ${table} SEMI JOIN (SELECT DISTINCT board FROM ${pairs}) USING (board)
    )
    FROM of_boards SEMI JOIN ${pairs} USING (board, person))`;
}

/**
 * A query for the rows that do not come after the row before, by a column that is not null. It has
 * none only if the rows are in ascending order, whatever the order in which they are read.
 */
export function stepsBack(source: string, column: string): string {
  return `(FROM (SELECT ${column} <= lag(${column}) OVER () AS back FROM ${source}) WHERE back)`;
}

interface Appended {
  readonly parameters?: StatementParameters;
  /** None of the rows sorts before an existing row. */
  readonly continues?: boolean;
  /** Conditions on the rows, in the order of the table; absent: all rows are sorted together. */
  readonly portions?: readonly string[];
}

/** Appends the rows of a query with the columns of the table, by name; returns their number. */
export async function appendInOrder(
  connection: DuckDBConnection,
  table: OrderedTable,
  rows: string,
  { parameters, continues = false, portions = ['true'] }: Appended = {},
): Promise<number> {
  const held = await runRows(connection, `FROM ${table} LIMIT 1`);
  let added = 0;
  for (const portion of portions) {
    const [inserted] = await runRows(
      connection,
      `INSERT INTO ${table} BY NAME FROM (${rows}) WHERE ${portion} ORDER BY ${ORDERS[table]}`,
      parameters,
    );
    added += Number(inserted?.[0]);
  }
  if (held.length > 0 && added > 0 && !continues) {
    await connection.run(`INSERT INTO out_of_order VALUES ('${table}', ${added})`);
  }
  return added;
}

/**
 * Replaces rows of a table by others. Rows that stay the same stay in their places. `known`: a
 * table with the rows to replace, and `row`, their place, which a checkpoint since would change.
 * `fresh`: one with the rows that come.
 */
export async function replaceRows(
  connection: DuckDBConnection,
  table: keyof typeof REPLACED_COLUMNS,
  known: string,
  fresh: string,
): Promise<void> {
  const same = REPLACED_COLUMNS[table];
  await connection.run(
    `DELETE FROM ${table} WHERE rowid IN (SELECT row FROM ${known} ANTI JOIN ${fresh} USING (${same}))`,
  );
  await appendInOrder(connection, table, `FROM ${fresh} ANTI JOIN ${known} USING (${same})`);
}

/**
 * Counting all rows would take long where some have been deleted. The estimate counts those for a
 * while, so a table is sorted a little later at most.
 */
const OUT_OF_ORDER = `
  SELECT o.name FROM out_of_order o
  JOIN duckdb_tables() t ON t.table_name = o.name AND t.database_name = current_database()
  GROUP BY o.name, t.estimated_size HAVING sum(o.rows) > t.estimated_size * ${SHARE_OUT_OF_ORDER}`;

/** Sorts the tables whose unsorted share exceeds the limit. */
export async function restoreOrder(connection: DuckDBConnection): Promise<void> {
  const found = await runRows(connection, OUT_OF_ORDER);
  const names = new Set(found.map(([name]) => text(name)));
  for (const table of Object.keys(ORDERS) as OrderedTable[]) {
    if (names.has(table)) await rewriteOrdered(connection, table, (rewritten) => `FROM ${rewritten}`);
  }
}

/** Conditions that divide events with long bodies by time. `source`: as for `portionsOf`. */
export async function eventPortions(
  connection: DuckDBConnection,
  source: string,
): Promise<readonly string[]> {
  return await portionsIn(connection, { source, key: ORDERS.events, size: bytesOfRow('events') });
}

/**
 * Replaces a table by the rows of a query, sorted. `rows`: the query over some of the present rows,
 * and the condition that selects those. `bodies`: the source for the portions of events.
 */
export async function rewriteOrdered(
  connection: DuckDBConnection,
  table: OrderedTable,
  rows: (table: string, portion: string) => string,
  bodies = 'events',
): Promise<void> {
  const portions = table === 'events' ? await eventPortions(connection, bodies) : ['true'];
  for (const [at, portion] of portions.entries()) {
    const into = at === 0 ? 'CREATE TABLE ordered AS' : 'INSERT INTO ordered';
    const selected = rows(`(FROM ${table} WHERE ${portion})`, portion);
    await connection.run(`${into} FROM (${selected}) ORDER BY ${ORDERS[table]}`);
  }
  // The checkpoint frees the space of this table for the next one, so that the file grows by the
  // largest table and not by all.
  await connection.run(`
    DROP TABLE ${table};
    ALTER TABLE ordered RENAME TO ${table};
    DELETE FROM out_of_order WHERE name = '${table}';
    CHECKPOINT;`);
}

/** Empties a table that will be filled again. */
export async function emptyOrdered(connection: DuckDBConnection, table: OrderedTable): Promise<void> {
  await connection.run(`DELETE FROM ${table}; DELETE FROM out_of_order WHERE name = '${table}';`);
}
