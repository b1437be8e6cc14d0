/**
 * Closes the gaps that deleted users, boards and pins leave in the indices, which are dense. The
 * order of the indices stays, and with it the order of all tables.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { ThingTable } from '../../version-tables.ts';
import { fillTemporary } from '../database.ts';
import { EVENT_TABLES, rewriteOrdered } from './layout.ts';

/** References in small tables. In `adjustments` the order of rows is the order of import. */
const REFERENCES: Readonly<Record<ThingTable, readonly (readonly [table: string, column: string])[]>> = {
  users: [
    ...(
      ['user_properties', 'memberships', 'imported_points', 'adjustments', 'forgotten_boards'] as const
    ).map((table) => [table, 'person'] as const),
    ['pins', '"owner"'],
  ],
  boards: [
    ...(['pins', 'memberships', 'imported_points', 'adjustments', 'forgotten_boards'] as const).map(
      (table) => [table, 'board'] as const,
    ),
  ],
  pins: [],
};

const IN_EVENTS: Readonly<Record<ThingTable, readonly string[]>> = {
  users: ['actor', '"owner"'],
  boards: ['board'],
  pins: ['pin'],
};

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
  for (const table of moved) {
    for (const [referring, column] of [[table, 'ix'] as const, ...REFERENCES[table]])
      await connection.run(
        `UPDATE ${referring} t SET ${column} = m.place FROM moved_${table} m WHERE m.ix = t.${column}`,
      );
  }
  if (moved.length > 0)
    for (const table of EVENT_TABLES) await rewriteOrdered(connection, table, events(moved));
}

/** Replaces indices in a table of events. */
function events(moved: readonly ThingTable[]): (table: string) => string {
  const columns = moved.flatMap((of) =>
    IN_EVENTS[of].map((column, at) => ({ of, column, name: `${of}_${at}` })),
  );
  const replaced = columns.map(({ column, name }) => `coalesce(${name}.place, e.${column}) AS ${column}`);
  const joins = columns.map(
    ({ of, column, name }) => `LEFT JOIN moved_${of} ${name} ON ${name}.ix = e.${column}`,
  );
  return (table) => `SELECT e.* REPLACE (${replaced.join(', ')}) FROM ${table} e ${joins.join(' ')}`;
}
