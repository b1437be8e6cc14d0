/**
 * One publication at a time and organization. The lock is SQLite's own lock on an empty file: held by one connection
 * of one process, and released by the operating system when that process ends, however it ends (decision 31).
 */
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../../app-error.ts';
import type { PublicationOptions } from '../store.ts';

const RETRY_AFTER_MS = 100;

/** Returns the release. Waits up to `waitMs` for another publication to end, then throws `organization-busy`. */
export async function acquirePublicationLock(
  path: string,
  { waitMs, onWait }: Pick<PublicationOptions, 'waitMs' | 'onWait'>,
): Promise<() => void> {
  const database = new DatabaseSync(path);
  database.exec('PRAGMA busy_timeout = 0');
  const deadlineMs = performance.now() + waitMs;
  let told = false;
  while (!tryLock(database)) {
    if (performance.now() >= deadlineMs) {
      database.close();
      throw new AppError(
        'organization-busy',
        'Another import or configuration of this organization is under way; try again when it has ended.',
      );
    }
    if (!told) onWait?.();
    told = true;
    await delay(RETRY_AFTER_MS);
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
