/**
 * The order in which rows of the large tables lie, so that DuckDB reads only those stretches of a table that can hold
 * what is asked for: it keeps the smallest and largest value of every stretch. Each publication appends its rows, in
 * order among themselves; once those appended are more than a sixteenth of a table, it is put in order as a whole.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { runRows, type StatementParameters } from '../database.ts';
import { countRows } from './merge-things.ts';

const ORDERS = {
  events: 'timestamp_ms',
  board_events: 'board, timestamp_ms',
  actor_events: 'actor, timestamp_ms',
  board_people: 'board, person',
  awards: 'board, person',
  standings: 'board, person',
} as const;

type OrderedTable = keyof typeof ORDERS;

/** A question reads all that lies out of order, so that part must stay small; less of it means more rewriting. */
const SHARE_OUT_OF_ORDER = 1 / 16;

/**
 * Appends the rows of a query, which names its columns, and answers how many they are. `continues`: none of them
 * comes before a row that is there already.
 */
export async function appendInOrder(
  connection: DuckDBConnection,
  table: OrderedTable,
  rows: string,
  parameters: StatementParameters = {},
  continues = false,
): Promise<number> {
  const [held] = await countRows(connection, [table]);
  const [inserted] = await runRows(
    connection,
    `INSERT INTO ${table} FROM (${rows}) ORDER BY ${ORDERS[table]}`,
    parameters,
  );
  const added = Number(inserted?.[0]);
  if (held > 0 && added > 0 && !continues) {
    await connection.run(`INSERT INTO out_of_order VALUES ('${table}', ${added})`);
  }
  return added;
}

/** Puts tables in order of which too much is out of it. */
export async function restoreOrder(connection: DuckDBConnection): Promise<void> {
  const parts = await runRows(connection, 'SELECT name, sum(rows)::BIGINT FROM out_of_order GROUP BY name');
  const outOfOrder = new Map(parts.map(([name, rows]) => [name, Number(rows)]));
  for (const [table, order] of Object.entries(ORDERS)) {
    const part = outOfOrder.get(table);
    if (part === undefined) continue;
    const [rows] = await countRows(connection, [table]);
    if (part <= rows * SHARE_OUT_OF_ORDER) continue;
    // The checkpoint gives the next table the space of this one, so that the file grows by the largest and not by all.
    await connection.run(`
      CREATE TABLE ordered AS FROM ${table} ORDER BY ${order};
      DROP TABLE ${table};
      ALTER TABLE ordered RENAME TO ${table};
      DELETE FROM out_of_order WHERE name = '${table}';
      CHECKPOINT;`);
  }
}

/** Empties a table that is going to be filled anew. */
export async function emptyOrdered(connection: DuckDBConnection, table: OrderedTable): Promise<void> {
  await connection.run(`DELETE FROM ${table}; DELETE FROM out_of_order WHERE name = '${table}';`);
}
