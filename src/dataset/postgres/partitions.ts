/**
 * Partitions of events, one for a year of UTC. They are made when the first event of their year comes, in short
 * transactions of their own: to attach one needs the default partition for a moment without readers and writers.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Asking, Database, Session } from './database.ts';
import { startOfYear } from './event-survey.ts';
import { LOCKS, PARTITIONS_LOCK } from './publication-lock.ts';

/** Whoever waits for the default partition holds up those who come after: so long, and not again for a while. */
const LOCK_TIMEOUT_MS = 100;
const RETRY_AFTER_MS = 1_000;
/** Another import that has read the default partition keeps it until it ends. */
const GIVE_UP_AFTER_MS = 600_000;
/** Rows of a year that lie in the default partition are moved to its own, unless they are more: then the year stays. */
const MOST_MOVED_ROWS = 10_000;

const DEFAULT = 'corkboard.events_of_other_years';

/** Codes of PostgreSQL: a lock was not to be had in time, or others wait for us. */
const BUSY = new Set(['55P03', '40P01']);

/**
 * Makes the partitions of those years that have none. Not to be called by who has read events in a transaction that is
 * still open. False when a year is left without one: its events then belong to the default partition, as long as
 * `holdPartitions` is held.
 */
export async function ensurePartitions(database: Database, years: ReadonlySet<number>): Promise<boolean> {
  const deadlineMs = performance.now() + GIVE_UP_AFTER_MS;
  let complete = true;
  for (const year of [...years].sort()) {
    while (!(await exists(database, year))) {
      const made = await tryToMake(database, year);
      if (made === 'too many rows' || (made === 'busy' && performance.now() >= deadlineMs)) {
        complete = false;
        break;
      }
      if (made === 'busy') await delay(RETRY_AFTER_MS);
    }
  }
  return complete;
}

/** Keeps others from making partitions until the transaction ends, which would turn away rows on their way. */
export async function holdPartitions(session: Session): Promise<void> {
  await session.run(`SELECT pg_advisory_xact_lock_shared(${LOCKS}, ${PARTITIONS_LOCK})`);
}

function nameOf(year: number): string {
  return `corkboard.events_${year}`;
}

/** Asks the table of tables: `to_regclass` may answer what it knew before the transaction waited for a lock. */
async function exists(asking: Asking, year: number): Promise<boolean> {
  const [row] = await asking.rows(
    `SELECT EXISTS (SELECT FROM pg_class WHERE oid IN (
       SELECT inhrelid FROM pg_inherits WHERE inhparent = 'corkboard.events'::regclass) AND relname = 'events_${year}')`,
  );
  return row?.[0] === true;
}

async function tryToMake(database: Database, year: number): Promise<'made' | 'busy' | 'too many rows'> {
  return await database.session(async (session) => {
    try {
      await session.run(`BEGIN; SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS};`);
      const made = await make(session, year);
      await session.run('COMMIT');
      return made;
    } catch (error) {
      await session.run('ROLLBACK');
      if (error instanceof Error && 'code' in error && BUSY.has(String(error.code))) return 'busy';
      throw error;
    }
  });
}

async function make(session: Session, year: number): Promise<'made' | 'too many rows'> {
  const [from, to] = [startOfYear(year), startOfYear(year + 1)];
  const ofYear = `timestamp_ms >= ${from} AND timestamp_ms < ${to}`;
  await session.run(`SELECT pg_advisory_xact_lock(${LOCKS}, ${PARTITIONS_LOCK})`);
  if (await exists(session, year)) return 'made';
  // Readers go on meanwhile; only who would write into the default partition waits.
  await session.run(`LOCK TABLE ${DEFAULT} IN SHARE ROW EXCLUSIVE MODE`);
  const [lying] = await session.rows(
    `SELECT count(*) FROM (SELECT FROM ${DEFAULT} WHERE ${ofYear} LIMIT ${MOST_MOVED_ROWS + 1}) lying`,
  );
  if (Number(lying?.[0]) > MOST_MOVED_ROWS) return 'too many rows';
  await session.run(`
    CREATE TABLE ${nameOf(year)} (LIKE corkboard.events INCLUDING ALL);
    WITH moved AS (DELETE FROM ${DEFAULT} WHERE ${ofYear} RETURNING *)
      INSERT INTO ${nameOf(year)} SELECT * FROM moved;
    ALTER TABLE corkboard.events ATTACH PARTITION ${nameOf(year)} FOR VALUES FROM (${from}) TO (${to});`);
  return 'made';
}
