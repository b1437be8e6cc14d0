/**
 * The keyring of the embedded store: `keys.db` (SQLite) in the data folder, shared by servers and commands at the
 * same time. Every look-up asks the file whether it has changed, so what one process revokes the others refuse at once.
 */
import { join } from 'node:path';
import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { AppError } from '../domain/app-error.ts';
import { inTransaction, openPrivateDatabase } from '../system/private-database.ts';
import {
  CONFIGURE_KEY,
  configuredCells,
  INSERT_KEY,
  type KeyCell,
  type KeyRow,
  type KeyRows,
  RETIRE_KEY,
  REVOKE_KEY,
  type Replacement,
  readRow,
  rowCells,
  SELECT_KEY,
  SELECT_KEYS,
  TAKE_KEY,
} from './key-row.ts';
import type { Keyring } from './keyring.ts';
import { StoredKeyring } from './stored-keyring.ts';

const FILE = 'keys.db';

/**
 * The steps that make the table, which are only ever added to; `user_version` of the file counts
 * those done.
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
] as const;

/** Opens, and makes when there is none, the keyring of a data folder. Throws `data-unreadable`. */
export function openSqliteKeyring(dataDir: string, now: () => number = Date.now): Keyring {
  return new StoredKeyring(openSqliteKeyRows(dataDir), now);
}

/** The same keys as rows. */
export function openSqliteKeyRows(dataDir: string): KeyRows {
  return new SqliteKeyRows(dataDir);
}

class SqliteKeyRows implements KeyRows {
  readonly #database: DatabaseSync;
  // A connection of its own, which neither waits for a lock nor for the disk: a last use must not hold up a request.
  readonly #uses: DatabaseSync;
  readonly #selectKey: StatementSync;
  readonly #selectDataVersion: StatementSync;
  readonly #updateUse: StatementSync;
  #asking: Promise<unknown> | undefined;

  constructor(dataDir: string) {
    this.#database = openPrivateDatabase(dataDir, FILE);
    prepareSchema(this.#database);
    this.#selectKey = this.#database.prepare(SELECT_KEY);
    // Another number whenever another connection has changed the file; several times cheaper than to read a row.
    this.#selectDataVersion = this.#database.prepare('PRAGMA data_version');
    this.#uses = new DatabaseSync(join(dataDir, FILE), { timeout: 0 });
    this.#uses.exec('PRAGMA synchronous = NORMAL');
    this.#updateUse = this.#uses.prepare(
      'UPDATE keys SET last_used_ms = :now WHERE id = :id AND coalesce(last_used_ms <= :before, true)',
    );
  }

  /**
   * Asks the file whether it has changed: once for all look-ups that began in the same turn of the event loop, and
   * after the last of them has begun, so that each sees what was true when it did.
   */
  version(): Promise<unknown> {
    this.#asking ??= setImmediate().then(() => {
      this.#asking = undefined;
      return this.#selectDataVersion.get()?.['data_version'];
    });
    return this.#asking;
  }

  async row(id: string): Promise<KeyRow | undefined> {
    return this.#row(id);
  }

  async all(organization: string | undefined): Promise<readonly KeyRow[]> {
    return this.#database
      .prepare(SELECT_KEYS)
      .all(organization ?? null)
      .map(readNamed);
  }

  async insert(row: KeyRow): Promise<void> {
    this.#insert(row);
  }

  async revoke(id: string, nowMs: number): Promise<KeyRow | undefined> {
    this.#database.prepare(REVOKE_KEY).run(nowMs, id);
    return this.#row(id);
  }

  async configure(id: string, change: (old: KeyRow | undefined) => KeyRow): Promise<void> {
    inTransaction(this.#database, () => {
      const cells = configuredCells(change(this.#row(id)));
      this.#database.prepare(CONFIGURE_KEY).run(...cells.map(boundValue), id);
    });
  }

  async replace(id: string, succeed: (old: KeyRow | undefined) => Replacement): Promise<void> {
    inTransaction(this.#database, () => {
      const { successor, retiresMs } = succeed(this.#row(id));
      this.#insert(successor);
      this.#database.prepare(RETIRE_KEY).run(retiresMs, successor.id, id);
    });
  }

  async take(rows: readonly KeyRow[]): Promise<void> {
    inTransaction(this.#database, () => {
      for (const row of rows) this.#insert(row, TAKE_KEY);
    });
  }

  noteUse(id: string, now: number, before: number): void {
    try {
      this.#updateUse.run({ now, id, before });
    } catch {
      // Locked or not writable: the request goes on without it.
    }
  }

  async close(): Promise<void> {
    this.#uses.close();
    this.#database.close();
  }

  #row(id: string): KeyRow | undefined {
    const row = this.#selectKey.get(id);
    return row && readNamed(row);
  }

  #insert(row: KeyRow, statement = INSERT_KEY): void {
    this.#database.prepare(statement).run(...rowCells(row).map(boundValue));
  }
}

/**
 * Does the steps that the file has not seen. Throws `data-unreadable` for the file of a newer
 * version.
 */
function prepareSchema(database: DatabaseSync): void {
  const done = () => Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
  if (done() === STEPS.length) return;
  if (done() > STEPS.length) {
    throw new AppError('data-unreadable', 'The keys were written by a newer Corkboard. Use that version.');
  }
  database.exec('BEGIN IMMEDIATE');
  try {
    // Counted again, because another process may have done them before this one got the lock.
    for (const step of STEPS.slice(done())) database.exec(step);
    database.exec(`PRAGMA user_version = ${STEPS.length}`);
    database.exec('COMMIT');
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

/** SQLite has no booleans. */
function boundValue(cell: Exclude<KeyCell, bigint>): Exclude<KeyCell, bigint | boolean> {
  return typeof cell === 'boolean' ? Number(cell) : cell;
}

/** The columns come in the order in which they were selected. */
function readNamed(row: Record<string, SQLOutputValue>): KeyRow {
  return readRow(Object.values(row));
}
