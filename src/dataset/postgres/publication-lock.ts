/**
 * One publication at a time and organization. The lock is an advisory one of PostgreSQL, held by the connection that
 * publishes, and released by the server when that connection ends, however it ends (decision 31).
 */
import { waitForTurn } from '../publication-turn.ts';
import type { PublicationOptions } from '../store.ts';
import type { Session } from './database.ts';

/** The first half of Corkboard's advisory locks: "cork" in ASCII. The second is the number of an organization. */
export const LOCKS = 0x636f726b;

/** Waits up to `waitMs` for another publication to end, then throws `organization-busy`. */
export async function acquirePublicationLock(
  session: Session,
  organization: number,
  options: PublicationOptions,
): Promise<void> {
  await waitForTurn(async () => {
    const [row] = await session.rows(`SELECT pg_try_advisory_lock(${LOCKS}, ${organization})`);
    return row?.[0] === true;
  }, options);
}
