/**
 * Brings a database up to the tables of this version: the numbered steps of the schema that it has not seen yet, in
 * order. Servers and other commands only look whether all are done.
 */
import { AppError } from '../../app-error.ts';
import type { Asking, Database, Session } from './database.ts';
import { MIGRATIONS, type Migration } from './migrations.ts';

/** Of the advisory lock; any number, but always the same. */
const LOCK = 2_672_654_357;
const MAKE_BOOK = `
  CREATE TABLE IF NOT EXISTS corkboard.migrations (
    number INTEGER PRIMARY KEY, done_at TIMESTAMPTZ NOT NULL DEFAULT now()
  )`;

/**
 * Makes the schema `corkboard` when there is none, does the missing steps, each in a transaction of its own, and
 * answers their numbers, ascending; none when all were done. Two that run at once take turns. Throws `data-unreadable`
 * when the database is newer.
 */
export async function migrate(database: Database, steps = MIGRATIONS): Promise<number[]> {
  const session = await database.open();
  try {
    await session.withoutTimeout();
    const numbers: number[] = [];
    for (;;) {
      const step = await runNext(session, steps);
      if (step === undefined) return numbers;
      numbers.push(step.number);
    }
  } finally {
    // With the connection ends what is open on it, a transaction that has failed above all.
    session.close();
  }
}

/** Throws `data-unreadable`, with the command that mends it, unless exactly the steps of this version are done. */
export async function checkMigrations(database: Database, steps = MIGRATIONS): Promise<void> {
  const done = await doneSteps(database);
  refuseNewer(done, steps);
  if (steps.every(({ number }) => done.has(number))) return;
  throw new AppError(
    'data-unreadable',
    done.size === 0
      ? 'The database has no tables of Corkboard yet; "corkboard migrate" makes them.'
      : 'The database was made by an older Corkboard; "corkboard migrate" brings it up to this version.',
  );
}

/** The step that was done; absent when none was missing. */
async function runNext(session: Session, steps: readonly Migration[]): Promise<Migration | undefined> {
  // Whoever has waited for the lock must see what the other one did meanwhile, whatever the default is here.
  await session.run('BEGIN ISOLATION LEVEL READ COMMITTED');
  await session.rows('SELECT pg_advisory_xact_lock($1)', [LOCK]);
  await makeBook(session);
  const done = await doneSteps(session);
  refuseNewer(done, steps);
  const next = steps.find(({ number }) => !done.has(number));
  if (next !== undefined) {
    await session.run(next.sql);
    await session.rows('INSERT INTO corkboard.migrations (number) VALUES ($1)', [next.number]);
  }
  await session.run('COMMIT');
  return next;
}

async function makeBook(session: Session): Promise<void> {
  const [row] = await session.rows(`SELECT to_regnamespace('corkboard') IS NOT NULL`);
  // Even with IF NOT EXISTS the statement wants a right that who was given a schema does not need.
  if (row?.[0] !== true) await session.run('CREATE SCHEMA corkboard');
  await session.run(MAKE_BOOK);
}

async function doneSteps(asking: Asking): Promise<ReadonlySet<number>> {
  const [row] = await asking.rows(`SELECT to_regclass('corkboard.migrations') IS NOT NULL`);
  if (row?.[0] !== true) return new Set();
  const rows = await asking.rows('SELECT number FROM corkboard.migrations');
  return new Set(rows.map(([number]) => Number(number)));
}

function refuseNewer(done: ReadonlySet<number>, steps: readonly Migration[]): void {
  const known = new Set(steps.map(({ number }) => number));
  if ([...done].every((number) => known.has(number))) return;
  throw new AppError('data-unreadable', 'The database was made by a newer Corkboard; use that version.');
}
