/**
 * Migrates a database to the tables of this version of Corkboard. Servers and other commands only
 * check that all migrations have run.
 */
import { AppError } from '../../domain/app-error.ts';
import { told } from './connection-errors.ts';
import type { PostgresDatabase, Session } from './postgres-database.ts';
import { SCHEMA, STEPS } from './postgres-tables.ts';

/**
 * Key of the advisory lock that serializes migrations before there is a table to lock: "corkmigr"
 * in ASCII.
 */
const LOCK = 0x636f726b6d696772n;
/** The schema that the tables of version 0.1 are moved to. */
export const SCHEMA_OF_ROWS = 'corkboard_0_1';
/** Number of migrations in version 0.1. Its rows can be copied once all have run. */
const STEPS_OF_ROWS = 9;

export interface Migrated {
  /** Numbers of the migrations that ran now, ascending. */
  readonly steps: readonly number[];
  /** Whether the tables of version 0.1 were moved to `SCHEMA_OF_ROWS` now. */
  readonly setAside: boolean;
}

/**
 * Creates the schema if there is none and runs the missing migrations in one transaction.
 * Concurrent calls take turns. `database` must allow long statements. Throws `data-unreadable` when
 * the database is newer.
 */
export async function migrate(database: PostgresDatabase): Promise<Migrated> {
  const setAside = await database.session(prepareSchema);
  await refuseNewer(database);
  const { runSteps } = await import('./migrator.ts');
  const steps = await told(runSteps(database, LOCK));
  return { steps: steps.map(Number), setAside };
}

/**
 * Throws `data-unreadable`, naming the command that helps, unless exactly the migrations of this
 * version of Corkboard have run.
 */
export async function checkMigrations(database: PostgresDatabase): Promise<void> {
  // A pooler that allows no transactions refuses this before anything is written.
  await database.transact(checkSteps);
}

async function checkSteps(database: Session): Promise<void> {
  if (await hasRows(database)) {
    throw new AppError(
      'data-unreadable',
      'The database was made by Corkboard 0.1. Stop its servers, then run "corkboard migrate" to upgrade it.',
    );
  }
  await refuseNewer(database);
  const done = await doneSteps(database);
  if (Object.keys(STEPS).every((step) => done.has(step))) return;
  throw new AppError(
    'data-unreadable',
    done.size === 0
      ? 'The database has no tables of Corkboard yet. Run "corkboard migrate" to create them.'
      : 'The database was made by an older Corkboard. Run "corkboard migrate" to upgrade it.',
  );
}

/**
 * Creates the schema if there is none. Returns whether it had tables of version 0.1; these are kept
 * in a separate schema.
 */
async function prepareSchema(session: Session): Promise<boolean> {
  await session.rows('BEGIN');
  await session.rows('SELECT pg_advisory_xact_lock($1)', [LOCK]);
  const setAside = await hasRows(session);
  if (setAside) {
    await checkRowSteps(session, SCHEMA);
    await session.rows(`ALTER SCHEMA ${SCHEMA} RENAME TO ${SCHEMA_OF_ROWS}`);
  }
  // CREATE SCHEMA IF NOT EXISTS requires a privilege that a role with an existing schema may lack.
  if (!(await exists(session, 'to_regnamespace', SCHEMA))) await session.rows(`CREATE SCHEMA ${SCHEMA}`);
  await session.rows('COMMIT');
  return setAside;
}

/** Throws `data-unreadable` unless the tables of version 0.1 have its last format. */
export async function checkRowSteps(database: Session, schema: string): Promise<void> {
  const rows = await database.rows(`SELECT number FROM ${schema}.migrations`);
  const done = rows.map(([number]) => Number(number));
  if (done.length === STEPS_OF_ROWS && done.every((step) => step <= STEPS_OF_ROWS)) return;
  throw new AppError(
    'data-unreadable',
    done.some((step) => step > STEPS_OF_ROWS)
      ? 'The tables of Corkboard 0.1 were made by an unknown version. Use that version.'
      : `The tables of Corkboard 0.1 are from one of its earlier versions. First run "corkboard migrate" of the last Corkboard 0.1, with the tables in the schema ${SCHEMA}.`,
  );
}

/** Version 0.1 recorded its migrations in a different table. */
async function hasRows(database: Session): Promise<boolean> {
  return await exists(database, 'to_regclass', `${SCHEMA}.migrations`);
}

async function refuseNewer(database: Session): Promise<void> {
  const done = await doneSteps(database);
  if ([...done].every((step) => step in STEPS)) return;
  throw new AppError('data-unreadable', 'The database was made by a newer Corkboard. Use that version.');
}

async function doneSteps(database: Session): Promise<ReadonlySet<string>> {
  if (!(await exists(database, 'to_regclass', `${SCHEMA}.steps`))) return new Set();
  const rows = await database.rows(`SELECT name FROM ${SCHEMA}.steps`);
  return new Set(rows.map(([name]) => String(name)));
}

async function exists(
  database: Session,
  find: 'to_regclass' | 'to_regnamespace',
  name: string,
): Promise<boolean> {
  const [row] = await database.rows(`SELECT ${find}($1) IS NOT NULL`, [name]);
  return row?.[0] === true;
}
