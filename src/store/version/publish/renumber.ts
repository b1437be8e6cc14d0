/**
 * Closes the gaps that deleted users, boards and pins leave in the indices, which are dense. The
 * order of the indices stays, and with it the order of all tables.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { quoted, REFERRING_COLUMNS, type ThingTable } from '../../version-tables.ts';
import { fillTemporary } from '../database.ts';
import { EVENT_TABLES, rewriteOrdered } from './layout.ts';

export async function renumber(connection: DuckDBConnection): Promise<void> {
  const moved: ThingTable[] = [];
  for (const table of ['users', 'boards', 'pins'] as const) {
    const rows = await fillTemporary(
      connection,
      `moved_${table}`,
      `SELECT ix, place FROM (SELECT ix, (row_number() OVER (ORDER BY ix) - 1)::INTEGER AS place FROM ${table})
       WHERE ix <> place`,
    );
    if (rows > 0) moved.push(table);
  }
  for (const table of moved) await updateSmallTables(connection, table);
  if (moved.length === 0) return;
  for (const table of EVENT_TABLES) await rewriteOrdered(connection, table, withNewIndices(moved));
}

/** Replaces indices in place, since the order of rows in `adjustments` is that of import. */
async function updateSmallTables(connection: DuckDBConnection, moved: ThingTable): Promise<void> {
  const { events: _events, ...others } = REFERRING_COLUMNS;
  const referring = Object.entries(others).flatMap(([table, columns]) =>
    columnsTo(moved, columns).map((column) => [table, column] as const),
  );
  for (const [table, column] of [[moved, 'ix'] as const, ...referring])
    await connection.run(
      `UPDATE ${table} t SET ${quoted(column)} = m.place FROM moved_${moved} m WHERE m.ix = t.${quoted(column)}`,
    );
}

function columnsTo(target: ThingTable, columns: Readonly<Record<string, ThingTable>>): readonly string[] {
  return Object.keys(columns).filter((column) => columns[column] === target);
}

/** A table of events with new indices. */
function withNewIndices(moved: readonly ThingTable[]): (table: string) => string {
  const columns = moved.flatMap((of) =>
    columnsTo(of, REFERRING_COLUMNS.events).map((name) => ({ of, column: quoted(name), join: `of_${name}` })),
  );
  const replaced = columns.map(({ column, join }) => `coalesce(${join}.place, e.${column}) AS ${column}`);
  const joins = columns.map(
    ({ of, column, join }) => `LEFT JOIN moved_${of} ${join} ON ${join}.ix = e.${column}`,
  );
  return (table) => `SELECT e.* REPLACE (${replaced.join(', ')}) FROM ${table} e ${joins.join(' ')}`;
}
