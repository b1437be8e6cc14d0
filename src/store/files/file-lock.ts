/**
 * Locks a path: for one publication at a time per organization, and one fetch at a time per folder
 * of the cache. The lock is SQLite's lock on an empty file. It belongs to one connection of one
 * process, and the operating system releases it whenever that process ends (decision 31).
 */
import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AppError } from '../../domain/app-error.ts';
import { waitForTurn } from '../publication-turn.ts';
import type { PublicationOptions } from '../store.ts';

/** The file was deleted while this process waited for it, or has no folder. */
export class LockFileGone extends Error {}

/**
 * Returns the function that releases the lock. Waits up to `waitMs` for a different holder, then
 * throws `organization-busy`. Throws `LockFileGone`.
 */
export async function lockFile(path: string, options: PublicationOptions): Promise<() => void> {
  for (;;) {
    const before = inodeOf(path);
    const release = await lockOpened(path, options, before);
    // A former holder may have deleted the file, with its folder. The lock of a deleted file has no
    // effect on other processes.
    const after = inodeOf(path);
    if (release !== undefined && after !== undefined && after === before) return release;
    release?.();
    if (after === undefined) throw new LockFileGone();
  }
}

function inodeOf(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}

/** Absent if the file is not the one with the given inode any more. */
async function lockOpened(
  path: string,
  options: PublicationOptions,
  inode: bigint | undefined,
): Promise<(() => void) | undefined> {
  if (!existsSync(dirname(path))) throw new LockFileGone();
  const database = new DatabaseSync(path);
  try {
    database.exec('PRAGMA busy_timeout = 0');
    await waitForTurn(() => tryLock(database), options);
  } catch (error) {
    database.close();
    // SQLite refuses to lock a deleted file.
    if (!(error instanceof AppError) && inode !== inodeOf(path)) return undefined;
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
