/**
 * Brings a database up to the tables of this version. Servers and other commands only look whether
 * all steps are done.
 */
import { AppError } from '../../domain/app-error.ts';
import { told } from './away.ts';
import type { PostgresDatabase, Session } from './postgres-database.ts';
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
  const { runSteps } = await import('./migrator.ts');
  const steps = await told(runSteps(database, SCHEMA));
  return { steps: steps.map(Number), setAside };
}

/** Throws `data-unreadable`, with the command that mends it, unless exactly the steps of this version are done. */
export async function checkMigrations(database: PostgresDatabase): Promise<void> {
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

/** Makes the schema where there is none. Whether it had tables of version 0.1, which are kept beside it. */
async function prepareSchema(session: Session): Promise<boolean> {
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

/** Version 0.1 kept book of its steps in another table. */
async function hasRows(database: Session): Promise<boolean> {
  return await exists(database, 'to_regclass', `${SCHEMA}.migrations`);
}

async function refuseNewer(database: PostgresDatabase): Promise<void> {
  const done = await doneSteps(database);
  if ([...done].every((step) => step in STEPS)) return;
  throw new AppError('data-unreadable', 'The database was made by a newer Corkboard. Use that version.');
}

async function doneSteps(database: PostgresDatabase): Promise<ReadonlySet<string>> {
  if (!(await exists(database, 'to_regclass', `${SCHEMA}.steps`))) return new Set();
  const rows = await database.rows('SELECT name FROM steps');
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
