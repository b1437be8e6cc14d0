/**
 * The keyring of the embedded store: `keys.db` (SQLite) in the data folder, shared by concurrent
 * servers and commands. Every look-up checks whether the file has changed, so a revocation by one
 * process takes effect in the others at once.
 */
import { join } from 'node:path';
import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { AppError } from '../domain/app-error.ts';
import { inTransaction, PrivateDatabase, removeRemains } from '../system/private-database.ts';
import {
  acceptRow,
  addSeals,
  defineSeals,
  extendSeals,
  refuseChangedSchema,
  type SealedTable,
  sealCheck,
  sealSchema,
} from '../system/row-seal.ts';
import {
  CONFIGURE_KEY,
  configuredCells,
  INSERT_KEY,
  KEY_COLUMNS,
  type KeyCell,
  type KeyRow,
  type KeyRows,
  REMOVE_KEYS,
  RENAME_KEYS,
  RETIRE_KEY,
  REVOKE_KEY,
  type Replacement,
  readRow,
  rowCells,
  selectKey,
  selectKeys,
  TAKE_KEY,
} from './key-row.ts';
import { StoredKeyring } from './stored-keyring.ts';

const FILE = 'keys.db';

const SEALED: SealedTable = {
  file: FILE,
  name: 'keys',
  key: 'id',
  columns: KEY_COLUMNS,
  describe: (id) =>
    `The key ${id} in ${FILE} is damaged. Revoke it and create a new one, or restore ${FILE} from a backup.`,
};

/** The columns that earlier seals were made of. */
const BEFORE_SPLITS = KEY_COLUMNS.filter((column) => column !== 'lms_splits');
const FIRST_SEALED = BEFORE_SPLITS.filter((column) => column !== 'networks');

/**
 * The migrations of the table. Only append to them: `user_version` of the file counts those that
 * have run.
 */
const STEPS = [
  `CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    digest BLOB NOT NULL,
    organization TEXT NOT NULL,
    label TEXT NOT NULL,
    scope TEXT NOT NULL,
    redact_email INTEGER NOT NULL,
    redact_name INTEGER NOT NULL,
    rate_requests INTEGER,
    rate_per_seconds INTEGER,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER,
    retires_ms INTEGER,
    revoked_ms INTEGER,
    last_used_ms INTEGER,
    rotated_to TEXT
  ) STRICT, WITHOUT ROWID`,
  'ALTER TABLE keys ADD allow_lms_lookup INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE keys ADD redact_id INTEGER NOT NULL DEFAULT 0',
  addSeals({ ...SEALED, columns: FIRST_SEALED }),
  `ALTER TABLE keys ADD networks TEXT;
  ${extendSeals({ ...SEALED, columns: BEFORE_SPLITS }, FIRST_SEALED)}`,
  // The permission had no effect there until it allowed LMS ids as well (decision 101).
  `UPDATE keys SET allow_lms_lookup = 0
   WHERE allow_lms_lookup = 1 AND redact_email = 0 AND redact_name = 0 AND redact_id = 0`,
  `ALTER TABLE keys ADD lms_splits TEXT;
  ${extendSeals(SEALED, BEFORE_SPLITS)}`,
] as const;

/**
 * Opens the keyring of a data folder, and creates it if there is none. Throws `data-unreadable`.
 */
export function openSqliteKeyring(dataDir: string, now: () => number = Date.now): StoredKeyring {
  return new StoredKeyring(openSqliteKeyRows(dataDir), now);
}

/** The same keys as rows. */
export function openSqliteKeyRows(dataDir: string): KeyRows {
  return new SqliteKeyRows(dataDir);
}

/** A statement and its connection. */
interface Prepared {
  readonly database: DatabaseSync;
  readonly statement: StatementSync;
}

class SqliteKeyRows implements KeyRows {
  readonly #database: PrivateDatabase;
  readonly #path: string;
  #uses: Prepared | undefined;
  #selectKey: Prepared | undefined;
  #asking: Promise<unknown> | undefined;

  constructor(dataDir: string) {
    this.#database = new PrivateDatabase(dataDir, SEALED, prepareSchema);
    this.#path = join(dataDir, FILE);
  }

  /**
   * Checks whether the file has changed: once for all look-ups that begin in the same turn of the
   * event loop, and after the last of them has begun, so that each sees the state at its beginning.
   */
  version(): Promise<unknown> {
    this.#asking ??= setImmediate().then(() => {
      this.#asking = undefined;
      return this.#database.version();
    });
    return this.#asking;
  }

  async row(id: string): Promise<KeyRow | undefined> {
    return this.#database.use((database) => this.#row(database, id));
  }

  async all(organization: string | undefined): Promise<readonly KeyRow[]> {
    const select = selectKeys(sealCheck(SEALED));
    return this.#database.use((database) =>
      database
        .prepare(select)
        .all(organization ?? null)
        .map(readNamed),
    );
  }

  async insert(row: KeyRow): Promise<void> {
    this.#database.use((database) => insert(database, row));
  }

  async revoke(id: string, nowMs: number): Promise<KeyRow | undefined> {
    return this.#database.use((database) => {
      inTransaction(database, () => {
        database.prepare(REVOKE_KEY).run(nowMs, id);
        // A damaged key must be revocable; afterwards it gives access to nothing.
        database.prepare(acceptRow(SEALED, '?')).run(id);
      });
      return this.#row(database, id);
    });
  }

  async configure(id: string, change: (old: KeyRow | undefined) => KeyRow): Promise<void> {
    this.#change((database) => {
      const cells = configuredCells(change(this.#row(database, id)));
      database.prepare(CONFIGURE_KEY).run(...cells.map(boundValue), id);
    });
  }

  async rename(organization: string, newName: string): Promise<void> {
    this.#database.use((database) => database.prepare(RENAME_KEYS).run(newName, organization));
  }

  async remove(organization: string): Promise<void> {
    this.#database.use((database) => database.prepare(REMOVE_KEYS).run(organization));
  }

  async purge(): Promise<boolean> {
    return this.#database.use(removeRemains);
  }

  async replace(id: string, succeed: (old: KeyRow | undefined) => Replacement): Promise<void> {
    this.#change((database) => {
      const { successor, retiresMs } = succeed(this.#row(database, id));
      insert(database, successor);
      database.prepare(RETIRE_KEY).run(retiresMs, successor.id, id);
    });
  }

  async take(rows: readonly KeyRow[]): Promise<void> {
    this.#change((database) => {
      for (const row of rows) insert(database, row, TAKE_KEY);
    });
  }

  async findDamage(): Promise<readonly string[]> {
    return await this.#database.findDamage();
  }

  async confirmAbsence(): Promise<void> {
    await this.#database.confirmAbsence();
  }

  noteUse(id: string, now: number, before: number): void {
    if (this.#database.isReadOnly) return;
    try {
      this.#uses ??= openUses(this.#path);
      this.#uses.statement.run({ now, id, before });
    } catch {
      // Locked, or a full disk: the request continues without the record.
    }
  }

  async close(): Promise<void> {
    this.#uses?.database.close();
    this.#database.close();
  }

  #change(change: (database: DatabaseSync) => void): void {
    this.#database.use((database) => inTransaction(database, () => change(database)));
  }

  #row(database: DatabaseSync, id: string): KeyRow | undefined {
    if (this.#selectKey?.database !== database) {
      this.#selectKey = { database, statement: database.prepare(selectKey(sealCheck(SEALED))) };
    }
    const row = this.#selectKey.statement.get(id);
    return row && readNamed(row);
  }
}

function insert(database: DatabaseSync, row: KeyRow, statement = INSERT_KEY): void {
  database.prepare(statement).run(...rowCells(row).map(boundValue));
}

/**
 * A separate connection that waits neither for locks nor for the disk: recording a use must not
 * delay a request.
 */
function openUses(path: string): Prepared {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    defineSeals(database, SEALED);
    database.exec('PRAGMA synchronous = NORMAL');
    const statement = database.prepare(
      'UPDATE keys SET last_used_ms = :now WHERE id = :id AND coalesce(last_used_ms <= :before, true)',
    );
    return { database, statement };
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Runs the migrations that the file lacks. Throws `data-unreadable` if a newer version of Corkboard
 * wrote it, or the disk has changed it.
 */
function prepareSchema(database: DatabaseSync): void {
  const done = () => Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
  if (done() !== STEPS.length) {
    inTransaction(database, () => {
      refuseChangedSchema(database, FILE);
      // Read again, because a different process may have run them before this one got the lock.
      if (done() > STEPS.length) {
        throw new AppError(
          'data-unreadable',
          'The keys were written by a newer Corkboard. Use that version.',
        );
      }
      for (const step of STEPS.slice(done())) database.exec(step);
      database.exec(`PRAGMA user_version = ${STEPS.length}`);
      sealSchema(database);
    });
  }
  // Fails now if names have changed.
  database.prepare(selectKey('seal'));
}

/** SQLite has no booleans. */
function boundValue(cell: Exclude<KeyCell, bigint>): Exclude<KeyCell, bigint | boolean> {
  return typeof cell === 'boolean' ? Number(cell) : cell;
}

/** The columns have the order in which they were selected. */
function readNamed(row: Record<string, SQLOutputValue>): KeyRow {
  return readRow(Object.values(row));
}
