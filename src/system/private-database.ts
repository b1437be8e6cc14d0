/**
 * SQLite files in a data folder: readable only by the owner, durable, and shared by several
 * processes.
 */
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AppError } from '../domain/app-error.ts';
import { moveOrganizations } from './organization-folders.ts';

const BUSY_TIMEOUT_MS = 5000;
const RETRY_MS = 10;

/**
 * Opens a database file of the folder, and creates the file and the folder if they do not exist.
 * Throws `data-unreadable`.
 */
export function openPrivateDatabase(dataFolder: string, name: string): DatabaseSync {
  const path = join(dataFolder, name);
  try {
    mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
    moveOrganizations(dataFolder);
    // SQLite makes new files readable for everyone, and gives its auxiliary files the same
    // permissions.
    closeSync(openSync(path, 'a', 0o600));
    const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
    switchToWriteAheadLog(database);
    database.exec('PRAGMA synchronous = FULL');
    // Deleted rows are overwritten with zeros.
    database.exec('PRAGMA secure_delete = ON');
    return database;
  } catch (error) {
    if (error instanceof AppError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new AppError(
      'data-unreadable',
      `Cannot use the data folder (${reason}). --data must name a folder that can be read and written.`,
      { cause: error },
    );
  }
}

/**
 * When two processes switch a new file at the same time, SQLite fails at once, without its timeout.
 */
function switchToWriteAheadLog(database: DatabaseSync): void {
  const deadlineMs = performance.now() + BUSY_TIMEOUT_MS;
  for (;;) {
    try {
      database.exec('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      const isLocked = error instanceof Error && error.message.includes('locked');
      if (!isLocked || performance.now() > deadlineMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}

/**
 * Removes remains of deleted and changed rows from the file and its log. Returns false if a
 * different process is reading, so that they stay in the log for the time being.
 */
export function removeRemains(database: DatabaseSync): boolean {
  // Earlier versions of Corkboard did not overwrite deleted rows.
  database.exec('VACUUM');
  return database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.['busy'] === 0;
}

/**
 * Applies all changes of `change`, or none. `change` is synchronous, because a connection has one
 * transaction at a time.
 */
export function inTransaction<T>(database: DatabaseSync, change: () => T): T {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = change();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    // A full disk has already ended the transaction; a failing ROLLBACK would hide the original
    // error.
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}
