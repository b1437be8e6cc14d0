/** SQLite files of a data folder: for the owner's eyes only, durable, and shared by processes at the same time. */
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AppError } from '../domain/app-error.ts';
import { moveOrganizations } from './organization-folders.ts';

const BUSY_TIMEOUT_MS = 5000;
const RETRY_MS = 10;

/** Opens, and makes when there is none, a file of the folder, and the folder too. Throws `data-unreadable`. */
export function openPrivateDatabase(dataFolder: string, name: string): DatabaseSync {
  const path = join(dataFolder, name);
  try {
    mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
    moveOrganizations(dataFolder);
    // SQLite makes files for everybody to read, and its companions like the file itself.
    closeSync(openSync(path, 'a', 0o600));
    const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
    switchToWriteAheadLog(database);
    database.exec('PRAGMA synchronous = FULL');
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

/** SQLite refuses at once, without its timeout, when two processes switch a new file at the same time. */
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
 * Does all that `change` does, or nothing. Waits for nothing in between: a connection has one
 * transaction at a time.
 */
export function inTransaction<T>(database: DatabaseSync, change: () => T): T {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = change();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    // A full disk has ended the transaction already, and the reason must not be lost.
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}
