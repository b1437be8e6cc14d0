/**
 * People who were forgotten (decision 54): what is staged about them is left out, and what is published of them goes when
 * they are forgotten. Their number stays, for what others did with what was theirs.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { countRows } from './merge-things.ts';

/** Those who are, and those whom staged records make so. */
const FORGOTTEN = `
  SELECT id FROM users WHERE forgotten UNION SELECT id FROM staged_users WHERE forgotten = 1`;

const SAID: Readonly<Record<string, string>> = {
  staged_users: 'forgotten IS NULL AND id IN (FROM forgotten_ids)',
  staged_memberships: 'user_id IN (FROM forgotten_ids)',
  staged_events: 'actor_id IN (FROM forgotten_ids)',
  staged_points: 'user_id IN (FROM forgotten_ids)',
  staged_adjustments: 'user_id IN (FROM forgotten_ids)',
};

/** Takes out of the staging what is said of them; answers how many records that were. */
export async function leaveOutForgotten(connection: DuckDBConnection): Promise<number> {
  await connection.run(`CREATE OR REPLACE TEMP TABLE forgotten_ids AS ${FORGOTTEN}`);
  const [forgotten] = await countRows(connection, ['forgotten_ids']);
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
 * Takes away all that is published of people who are forgotten by what was merged, and empties the tables that follow from
 * the records: they have to be made anew from what is left. Absent when nobody is forgotten.
 */
export async function eraseForgotten(connection: DuckDBConnection): Promise<Erased | undefined> {
  await connection.run('CREATE OR REPLACE TEMP TABLE erased AS SELECT ix FROM altered_users WHERE forgotten');
  const [people, before] = await countRows(connection, ['erased', 'events']);
  if (people === 0) return undefined;
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
    DELETE FROM user_created;
    DELETE FROM board_created;
    DELETE FROM board_people;
    DELETE FROM out_of_order WHERE name = 'board_people';`);
  const [after] = await countRows(connection, ['events']);
  return { events: before - after };
}

/** Has the tables that follow from the records made from all of them, not from the new ones alone. */
export async function countAllAsNew(connection: DuckDBConnection): Promise<void> {
  await connection.run(`
    CREATE OR REPLACE TEMP VIEW new_events AS SELECT * FROM events;
    CREATE OR REPLACE TEMP TABLE fresh_memberships AS FROM memberships;
    CREATE OR REPLACE TEMP TABLE fresh_points AS FROM imported_points;`);
}
