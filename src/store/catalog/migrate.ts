/**
 * Brings a database up to the tables of this version. Servers and other commands only look whether
 * all steps are done.
 */
import { sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { AppError } from '../../app-error.ts';
import type { Asking, PostgresDatabase } from './postgres-database.ts';
import { STEPS } from './postgres-tables.ts';

const SCHEMA = 'corkboard';
/** Of the advisory lock that makes migrations take turns before there is a table to lock: "corkmigr" in ASCII. */
const LOCK = 0x636f726b6d696772n;
/** Where version 0.1 had its rows, beside `SCHEMA` since then. */
export const SCHEMA_OF_ROWS = 'corkboard_0_1';
/** How many steps version 0.1 had; once all are done, its rows can be copied. */
const STEPS_OF_ROWS = 9;

export interface Migrated {
  /** Numbers of the steps that were done now, ascending. */
  readonly steps: readonly number[];
  /** Whether the tables of version 0.1 were set aside now, in `SCHEMA_OF_ROWS`. */
  readonly setAside: boolean;
}

/**
 * Makes the schema when there is none and does the missing steps, in one transaction. Two that run
 * at once take turns. `database`: one that waits for long statements. Throws `data-unreadable` when
 * the database is newer.
 */
export async function migrate(database: PostgresDatabase): Promise<Migrated> {
  const setAside = await database.session(prepareSchema);
  await refuseNewer(database);
  const { error, results = [] } = await migratorOf(database).migrateToLatest();
  if (error !== undefined) throw error;
  return { steps: results.map(({ migrationName }) => Number(migrationName)), setAside };
}

/** Throws `data-unreadable`, with the command that mends it, unless exactly the steps of this version are done. */
export async function checkMigrations(database: PostgresDatabase): Promise<void> {
  if (await hasRows(database)) {
    throw new AppError(
      'data-unreadable',
      'The database was made by Corkboard 0.1; stop its servers, then "corkboard migrate" brings it up to this version.',
    );
  }
  await refuseNewer(database);
  const done = await doneSteps(database);
  if (Object.keys(STEPS).every((step) => done.has(step))) return;
  throw new AppError(
    'data-unreadable',
    done.size === 0
      ? 'The database has no tables of Corkboard yet; "corkboard migrate" makes them.'
      : 'The database was made by an older Corkboard; "corkboard migrate" brings it up to this version.',
  );
}

/** Makes the schema where there is none. Whether it had tables of version 0.1, which are kept beside it. */
async function prepareSchema(session: Asking): Promise<boolean> {
  await session.rows('BEGIN');
  await session.rows('SELECT pg_advisory_xact_lock($1)', [LOCK]);
  const setAside = await hasRows(session);
  if (setAside) {
    await checkRowSteps(session, SCHEMA);
    await session.rows(`ALTER SCHEMA ${SCHEMA} RENAME TO ${SCHEMA_OF_ROWS}`);
  }
  // Even with IF NOT EXISTS the statement needs a right that whoever was given a schema may lack.
  if (!(await exists(session, 'to_regnamespace', SCHEMA))) await session.rows(`CREATE SCHEMA ${SCHEMA}`);
  await session.rows('COMMIT');
  return setAside;
}

/** Throws `data-unreadable` unless the tables of version 0.1 are as it had them in the end. */
export async function checkRowSteps(database: Asking, schema: string): Promise<void> {
  const rows = await database.rows(`SELECT number FROM ${schema}.migrations`);
  const done = rows.map(([number]) => Number(number));
  if (done.length === STEPS_OF_ROWS && done.every((step) => step <= STEPS_OF_ROWS)) return;
  throw new AppError(
    'data-unreadable',
    done.some((step) => step > STEPS_OF_ROWS)
      ? 'The tables of Corkboard 0.1 were made by a version that this one does not know; use that version.'
      : `The tables of Corkboard 0.1 are those of one of its earlier versions. "corkboard migrate" of the last Corkboard 0.1 comes first, with the tables in the schema ${SCHEMA}.`,
  );
}

/** Version 0.1 kept book of its steps in another table. */
async function hasRows(database: Asking): Promise<boolean> {
  return await exists(database, 'to_regclass', `${SCHEMA}.migrations`);
}

async function refuseNewer(database: PostgresDatabase): Promise<void> {
  const done = await doneSteps(database);
  if ([...done].every((step) => step in STEPS)) return;
  throw new AppError('data-unreadable', 'The database was made by a newer Corkboard; use that version.');
}

async function doneSteps(database: PostgresDatabase): Promise<ReadonlySet<string>> {
  if (!(await exists(database, 'to_regclass', `${SCHEMA}.steps`))) return new Set();
  const { rows } = await sql<{ name: string }>`SELECT name FROM steps`.execute(database.kysely);
  return new Set(rows.map(({ name }) => name));
}

async function exists(
  database: Asking,
  find: 'to_regclass' | 'to_regnamespace',
  name: string,
): Promise<boolean> {
  const [row] = await database.rows(`SELECT ${find}($1) IS NOT NULL`, [name]);
  return row?.[0] === true;
}

function migratorOf({ kysely }: PostgresDatabase): Migrator {
  return new Migrator({
    db: kysely,
    provider: { getMigrations: async () => STEPS },
    migrationTableSchema: SCHEMA,
    migrationTableName: 'steps',
    migrationLockTableName: 'steps_lock',
  });
}
