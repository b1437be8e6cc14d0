/**
 * One publication at a time and organization. The lock is SQLite's own lock on an empty file: held by one connection
 * of one process, and released by the operating system when that process ends, however it ends (decision 31).
 */
import { DatabaseSync } from 'node:sqlite';
import { waitForTurn } from '../publication-turn.ts';
import type { PublicationOptions } from '../store.ts';

/** Returns the release. Waits up to `waitMs` for another publication to end, then throws `organization-busy`. */
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
