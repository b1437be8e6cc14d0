/**
 * One publication at a time and organization. The lock is an advisory one of PostgreSQL, held by the connection that
 * publishes, and released by the server when that connection ends, however it ends (decision 31).
 */
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../../app-error.ts';
import type { PublicationOptions } from '../store.ts';
import type { Session } from './database.ts';

/** The first half of Corkboard's advisory locks: "cork" in ASCII. The second is the number of an organization. */
export const LOCKS = 0x636f726b;
/** The second half of the lock on making partitions; no organization has this number. */
export const PARTITIONS_LOCK = 0;

const RETRY_AFTER_MS = 100;

/** Waits up to `waitMs` for another publication to end, then throws `organization-busy`. */
export async function acquirePublicationLock(
  session: Session,
  organization: number,
  { waitMs, onWait }: PublicationOptions,
): Promise<void> {
  const deadlineMs = performance.now() + waitMs;
  let told = false;
  while (!(await tryLock(session, organization))) {
    if (performance.now() >= deadlineMs) {
      throw new AppError(
        'organization-busy',
        'Another import or configuration of this organization is under way; try again when it has ended.',
      );
    }
    if (!told) onWait?.();
    told = true;
    await delay(RETRY_AFTER_MS);
  }
}

async function tryLock(session: Session, organization: number): Promise<boolean> {
  const [row] = await session.rows(`SELECT pg_try_advisory_lock(${LOCKS}, ${organization})`);
  return row?.[0] === true;
}
