/**
 * SQLite files in a data folder: readable only by the owner, durable, and shared by several
 * processes. Of a folder that can only be read, copies are opened.
 */
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AppError } from '../domain/app-error.ts';
import { DatabaseCopy } from './database-copy.ts';
import { moveOrganizations } from './organization-folders.ts';
import { isReadOnly, readOnlyFolder } from './read-only.ts';

const BUSY_TIMEOUT_MS = 5000;
const RETRY_MS = 10;
/** SQLITE_READONLY. */
const READ_ONLY = 8;

/** Where data folders have their organizations; without it, a folder holds no data. */
const CATALOG = 'catalog.db';

/** A connection to the file itself, or to a copy of it. */
interface Connection extends Disposable {
  readonly database: DatabaseSync;
  /** Changes whenever a different connection changes the file. */
  version(): unknown;
  /** Whether a new connection is needed. */
  isOutdated(): boolean;
}

export class PrivateDatabase {
  /** Whether the folder can only be read, so that every change is refused. */
  readonly isReadOnly: boolean;
  readonly #dataFolder: string;
  readonly #name: string;
  readonly #prepare: (database: DatabaseSync) => void;
  #connection: Connection | undefined;
  #isClosed = false;

  /**
   * Opens a file of the folder, and creates the file and the folder if they do not exist. `prepare`
   * defines functions and brings the schema up to date, for each connection. Throws
   * `data-unreadable`, and the errors of `prepare`.
   */
  constructor(dataFolder: string, name: string, prepare: (database: DatabaseSync) => void) {
    this.isReadOnly = isReadOnly(dataFolder);
    this.#dataFolder = dataFolder;
    this.#name = name;
    this.#prepare = prepare;
    this.#connect();
  }

  /** Throws `settings-refused` for a change of a folder that can only be read. */
  use<T>(work: (database: DatabaseSync) => T): T {
    try {
      return work(this.#connect().database);
    } catch (error) {
      throw this.explain(error);
    }
  }

  /** The error to throw in place of an error of SQLite. */
  explain(error: unknown): unknown {
    return this.isReadOnly && isSqliteError(error, READ_ONLY) ? readOnlyFolder(error) : error;
  }

  /**
   * A value that changes whenever a different connection changes the file. Several times cheaper
   * than reading a row.
   */
  version(): unknown {
    return this.#connect().version();
  }

  close(): void {
    this.#isClosed = true;
    this.#disconnect();
  }

  #connect(): Connection {
    if (this.#isClosed) throw new Error(`${this.#name} is used after it was closed`);
    if (this.#connection?.isOutdated()) this.#disconnect();
    this.#connection ??= this.#open();
    return this.#connection;
  }

  #disconnect(): void {
    this.#connection?.[Symbol.dispose]();
    this.#connection = undefined;
  }

  #open(): Connection {
    const connection = this.#openUnprepared();
    try {
      this.#prepare(connection.database);
      if (this.isReadOnly) connection.database.exec('PRAGMA query_only = ON');
      return connection;
    } catch (error) {
      connection[Symbol.dispose]();
      throw error;
    }
  }

  #openUnprepared(): Connection {
    const path = join(this.#dataFolder, this.#name);
    try {
      if (this.isReadOnly) return openCopy(this.#dataFolder, path);
      mkdirSync(this.#dataFolder, { recursive: true, mode: 0o700 });
      moveOrganizations(this.#dataFolder);
      return openFile(path);
    } catch (error) {
      if (error instanceof AppError) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      const remedy = this.isReadOnly
        ? 'The folder can only be read, so this also needs room for temporary files: TMPDIR must name a folder that can be written.'
        : '--data must name a folder that can be read and written.';
      throw new AppError('data-unreadable', `Cannot use the data folder (${reason}). ${remedy}`, {
        cause: error,
      });
    }
  }
}

function openFile(path: string): Connection {
  // SQLite makes new files readable for everyone, and gives its auxiliary files the same
  // permissions.
  closeSync(openSync(path, 'a', 0o600));
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  switchToWriteAheadLog(database);
  database.exec('PRAGMA synchronous = FULL');
  // Deleted rows are overwritten with zeros.
  database.exec('PRAGMA secure_delete = ON');
  const version = database.prepare('PRAGMA data_version');
  return {
    database,
    version: () => version.get()?.['data_version'],
    isOutdated: () => false,
    [Symbol.dispose]: () => database.close(),
  };
}

/** Folders of organizations of earlier versions of Corkboard cannot be moved; then it throws. */
function openCopy(dataFolder: string, path: string): Connection {
  if (!existsSync(join(dataFolder, CATALOG))) {
    throw new AppError(
      'data-unreadable',
      'The folder can only be read, and contains no Corkboard data. Check the folder in --data.',
    );
  }
  moveOrganizations(dataFolder);
  return new DatabaseCopy(path);
}

function isSqliteError(error: unknown, code: number): boolean {
  // Extended codes have the code itself in their last byte.
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === code;
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
