/**
 * Erasure of users (decision 54): staged records about them are removed, and their published data
 * is deleted when they are erased. Their id stays, for actions of other users on what they owned.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { countRows, fillTemporary } from '../database.ts';
import { emptyDerived } from './derived-tables.ts';

/** Users who are erased already, and users whom staged records erase. */
const FORGOTTEN = `
  SELECT id FROM users WHERE forgotten UNION SELECT id FROM staged_users WHERE forgotten = 1`;

const SAID: Readonly<Record<string, string>> = {
  staged_users: 'forgotten IS NULL AND id IN (FROM forgotten_ids)',
  staged_memberships: 'user_id IN (FROM forgotten_ids)',
  staged_events: 'actor_id IN (FROM forgotten_ids)',
  staged_points: 'user_id IN (FROM forgotten_ids)',
  staged_adjustments: 'user_id IN (FROM forgotten_ids)',
};

/** Removes staged records about erased users, and returns their number. */
export async function leaveOutForgotten(connection: DuckDBConnection): Promise<number> {
  const forgotten = await fillTemporary(connection, 'forgotten_ids', FORGOTTEN);
  if (forgotten === 0) return 0;
  const tables = Object.keys(SAID);
  const before = await countRows(connection, tables);
  for (const [table, where] of Object.entries(SAID))
    await connection.run(`DELETE FROM ${table} WHERE ${where}`);
  const after = await countRows(connection, tables);
  return before.reduce((sum, rows, at) => sum + rows - (after[at] ?? 0), 0);
}

export interface Erased {
  readonly events: number;
}

/**
 * Deletes the published data of users whom the merge has erased, and empties the derived tables,
 * which must be recomputed from the remaining records. Absent when no user was erased.
 */
export async function eraseForgotten(connection: DuckDBConnection): Promise<Erased | undefined> {
  const people = await fillTemporary(connection, 'erased', 'SELECT ix FROM altered_users WHERE forgotten');
  if (people === 0) return undefined;
  const [before] = await countRows(connection, ['events']);
  const theirs = (column: string) => `${column} IN (FROM erased)`;
  await connection.run(`
    INSERT INTO forgotten_boards SELECT board, person FROM board_people WHERE ${theirs('person')} ORDER BY board, person;
    DELETE FROM events WHERE ${theirs('actor')};
    DELETE FROM board_events WHERE ${theirs('actor')};
    DELETE FROM actor_events WHERE ${theirs('actor')};
    DELETE FROM user_properties WHERE ${theirs('person')};
    DELETE FROM memberships WHERE ${theirs('person')};
    DELETE FROM imported_points WHERE ${theirs('person')};
    DELETE FROM adjustments WHERE ${theirs('person')};
    DELETE FROM deleted_events WHERE actor_id IN (SELECT id FROM users WHERE ${theirs('ix')});`);
  await emptyDerived(connection);
  const [after] = await countRows(connection, ['events']);
  return { events: before - after };
}

/** Makes all records count as new, so that derived tables are recomputed from all of them. */
export async function countAllAsNew(connection: DuckDBConnection): Promise<void> {
  await connection.run(`
    CREATE OR REPLACE TEMP VIEW new_events AS SELECT * FROM events;
    CREATE OR REPLACE TEMP TABLE fresh_memberships AS FROM memberships;
    CREATE OR REPLACE TEMP TABLE fresh_points AS FROM imported_points;`);
}
