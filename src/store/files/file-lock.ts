/**
 * Locks a path: for one publication at a time per organization, and one fetch at a time per folder
 * of the cache. The lock is SQLite's lock on an empty file. It belongs to one connection of one
 * process, and the operating system releases it whenever that process ends (decision 31).
 */
import { DatabaseSync } from 'node:sqlite';
import { waitForTurn } from '../publication-turn.ts';
import type { PublicationOptions } from '../store.ts';

/**
 * Returns the function that releases the lock. Waits up to `waitMs` for a different holder, then
 * throws `organization-busy`.
 */
export async function lockFile(path: string, options: PublicationOptions): Promise<() => void> {
  const database = new DatabaseSync(path);
  try {
    database.exec('PRAGMA busy_timeout = 0');
    await waitForTurn(() => tryLock(database), options);
  } catch (error) {
    database.close();
    throw error;
  }
  return () => database.close();
}

function tryLock(database: DatabaseSync): boolean {
  try {
    database.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if (error instanceof Error && error.message.includes('locked')) return false;
    throw error;
  }
}
