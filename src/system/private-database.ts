/**
 * SQLite files in a data folder: readable only by the owner, durable, and shared by several
 * processes. Of a folder that can only be read, copies are opened.
 */
import { closeSync, existsSync, openSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AppError, ASK_CHECK } from '../domain/app-error.ts';
import { DatabaseCopy } from './database-copy.ts';
import { makeFolder } from './make-folder.ts';
import { moveOrganizations } from './organization-folders.ts';
import { isReadOnly, readOnlyFolder } from './read-only.ts';
import {
  checkRows,
  DamagedFile,
  defineSeals,
  describeDamage,
  findDamageOfFile,
  type SealedTable,
} from './row-seal.ts';
import { slice } from './time-slice.ts';

const BUSY_TIMEOUT_MS = 5000;
const RETRY_MS = 10;
/** SQLITE_READONLY. */
const READ_ONLY = 8;
/** Between two checks of a file as a whole; and how many times as long as such a check. */
const LEAST_CHECK_PAUSE_MS = 60_000;
const CHECK_PAUSES = 100;
/** Their seals take about a millisecond. */
const ROWS_AT_ONCE = 100;

/** Where data folders have their organizations; without it, a folder holds no data. */
const CATALOG = 'catalog.db';

/** A connection to the file itself, or to a copy of it. */
interface Connection extends Disposable {
  readonly database: DatabaseSync;
  /** Returns a value that changes whenever a different connection changes the file. */
  readonly version: () => unknown;
  /** Whether a new connection is needed. */
  isOutdated(): boolean;
}

export class PrivateDatabase {
  /** Whether the folder can only be read, so that every change is refused. */
  readonly isReadOnly: boolean;
  readonly #dataFolder: string;
  readonly #table: SealedTable;
  readonly #prepare: (database: DatabaseSync) => void;
  #connection: Connection | undefined;
  #isClosed = false;
  #damage: readonly string[] = [];
  #nextCheckMs = -Infinity;
  #checking: Promise<void> | undefined;

  /**
   * Opens the file of a table, and creates the file and the folder if they do not exist. `prepare`
   * brings the schema up to date, for each connection. Throws `data-unreadable`, and the errors of
   * `prepare`. A damaged file is opened again by each use, so that a server can start.
   */
  constructor(dataFolder: string, table: SealedTable, prepare: (database: DatabaseSync) => void) {
    this.isReadOnly = isReadOnly(dataFolder);
    this.#dataFolder = dataFolder;
    this.#table = table;
    this.#prepare = prepare;
    try {
      this.#connect();
    } catch (error) {
      if (!(error instanceof DamagedFile)) throw error;
    }
  }

  /**
   * Throws `settings-refused` for a change of a folder that can only be read, and `data-unreadable`
   * if the file is damaged.
   */
  use<T>(work: (database: DatabaseSync) => T): T {
    const { database } = this.#connect();
    try {
      return work(database);
    } catch (error) {
      throw this.explain(error, database);
    }
  }

  /** The error to throw in place of an error of SQLite. */
  explain(error: unknown, database = this.#connection?.database): unknown {
    if (this.isReadOnly && isReadOnlyError(error)) return readOnlyFolder(this.#dataFolder, error);
    return describeDamage(error, this.#table.file, database);
  }

  /**
   * A value that changes whenever a different connection changes the file. Several times cheaper
   * than reading a row.
   */
  version(): unknown {
    const { database, version } = this.#connect();
    try {
      return version();
    } catch (error) {
      throw this.explain(error, database);
    }
  }

  /** What is wrong with the file and its rows, and what to do, one line each. */
  async findDamage(): Promise<readonly string[]> {
    const inFile = this.use((database) => findDamageOfFile(database, this.#table));
    if (inFile.length > 0) return inFile;
    const damage: string[] = [];
    for (let after: string | undefined; ; ) {
      const from = after;
      const { last, damage: inRows } = this.use((database) =>
        checkRows(database, this.#table, from, ROWS_AT_ONCE),
      );
      damage.push(...inRows);
      if (last === undefined) return damage;
      after = last;
      if (slice.isOver()) await slice.pass();
    }
  }

  /**
   * Throws `data-unreadable` if the file is damaged: then a row that was not found may exist.
   * Checks the file as a whole, once a minute at most, and for a hundredth of the time.
   */
  async confirmAbsence(): Promise<void> {
    if (performance.now() >= this.#nextCheckMs) {
      this.#checking ??= this.#check().finally(() => {
        this.#checking = undefined;
      });
      await this.#checking;
    }
    if (this.#damage.length === 0) return;
    const { file } = this.#table;
    throw new AppError('data-unreadable', `${file} is damaged, so an entry may be missing. ${ASK_CHECK}`, {
      cause: new Error(this.#damage.join(' ')),
    });
  }

  async #check(): Promise<void> {
    const startMs = performance.now();
    this.#damage = await this.findDamage();
    const endMs = performance.now();
    this.#nextCheckMs = endMs + Math.max(LEAST_CHECK_PAUSE_MS, CHECK_PAUSES * (endMs - startMs));
  }

  close(): void {
    this.#isClosed = true;
    this.#disconnect();
  }

  #connect(): Connection {
    if (this.#isClosed) throw new Error(`${this.#table.file} is used after it was closed`);
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
    const { database } = connection;
    try {
      defineSeals(database, this.#table);
      this.#prepare(database);
      if (this.isReadOnly) database.exec('PRAGMA query_only = ON');
      return connection;
    } catch (error) {
      const explained = this.explain(error, database);
      connection[Symbol.dispose]();
      throw explained;
    }
  }

  #openUnprepared(): Connection {
    const path = join(this.#dataFolder, this.#table.file);
    try {
      if (this.isReadOnly) return openCopy(this.#dataFolder, path);
      makeFolder(this.#dataFolder);
      moveOrganizations(this.#dataFolder);
      return openFile(path);
    } catch (cause) {
      const error = this.explain(cause);
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
  try {
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
  } catch (error) {
    const described = describeDamage(error, basename(path), database);
    database.close();
    throw described;
  }
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

function isReadOnlyError(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === READ_ONLY;
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
