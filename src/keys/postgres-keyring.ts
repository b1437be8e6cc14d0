/**
 * The keyring of the PostgreSQL store: the table `keys`, shared by servers and commands on many
 * machines. A counter in a separate table is incremented whenever a key changes; servers poll the
 * counter, not the keys.
 */
import { setImmediate } from 'node:timers/promises';
import { AppError } from '../domain/app-error.ts';
import {
  CONFIGURE_KEY,
  configuredCells,
  INSERT_KEY,
  type KeyCell,
  type KeyRow,
  type KeyRows,
  type KeyStatements,
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

/**
 * A revocation takes effect within a second (decision 21): half of it to notice the change, half
 * for the round trip.
 */
const VERSION_LIFE_MS = 500;

/**
 * Longest wait of a look-up: a connection whose other end is gone can stay silent for a long time.
 */
const ANSWER_TIMEOUT_MS = 2_000;

const COUNT_CHANGE = 'UPDATE key_changes SET changes = changes + 1';
// Skips rows that a different server is writing, so that two servers never wait for each other.
const NOTE_USES = `
  UPDATE keys SET last_used_ms = $2 WHERE id IN (
    SELECT id FROM keys WHERE id = ANY($1) AND coalesce(last_used_ms <= $3, true) FOR UPDATE SKIP LOCKED)`;

/**
 * The database that the keyring requires, with its tables created. Its failures are
 * `database-away`.
 */
export interface KeyDatabase extends KeyStatements {
  rows(
    sql: string,
    parameters?: readonly (Exclude<KeyCell, bigint> | readonly string[])[],
  ): Promise<KeyCell[][]>;
  /** Runs `use` with its own connection. If `use` throws, an open transaction is rolled back. */
  session<T>(use: (session: KeyStatements) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/**
 * The keyring owns the database and closes it. `ticks` returns the milliseconds of a monotonic
 * clock. The methods of the keyring can also throw `database-away`.
 */
export function openPostgresKeyring(
  database: KeyDatabase,
  now: () => number = Date.now,
  ticks: () => number = () => performance.now(),
): StoredKeyring {
  return new StoredKeyring(new PostgresKeyRows(database, ticks), now);
}

/** The same keys as rows. They own the database and close it. */
export function openPostgresKeyRows(database: KeyDatabase): KeyRows {
  return new PostgresKeyRows(database, () => performance.now());
}

class PostgresKeyRows implements KeyRows {
  readonly #database: KeyDatabase;
  readonly #ticks: () => number;
  #asked: { readonly atMs: number; readonly version: Promise<unknown> } | undefined;
  /** Keys whose use is not yet written, and the times to write. */
  readonly #used = new Set<string>();
  #use = { nowMs: 0, beforeMs: 0 };
  #writing: Promise<void> | undefined;

  constructor(database: KeyDatabase, ticks: () => number) {
    this.#database = database;
    this.#ticks = ticks;
  }

  /**
   * Returns the latest poll if it began less than half a second ago, whether it is pending,
   * fulfilled or rejected. All look-ups share one query, and an unreachable database receives few.
   */
  version(): Promise<unknown> {
    const nowMs = this.#ticks();
    if (this.#asked === undefined || nowMs - this.#asked.atMs >= VERSION_LIFE_MS) {
      this.#asked = { atMs: nowMs, version: this.#askVersion() };
    }
    return this.#asked.version;
  }

  async #askVersion(): Promise<unknown> {
    const [row] = await inTime(this.#database.rows('SELECT changes FROM key_changes'));
    return row?.[0];
  }

  async row(id: string): Promise<KeyRow | undefined> {
    return await inTime(selectRow(this.#database, id));
  }

  async all(organization: string | undefined): Promise<readonly KeyRow[]> {
    return (await this.#database.rows(numbered(selectKeys()), [organization ?? null])).map(readRow);
  }

  async insert(row: KeyRow): Promise<void> {
    await this.#change((session) => session.rows(numbered(INSERT_KEY), rowCells(row)));
  }

  async take(rows: readonly KeyRow[]): Promise<void> {
    await this.#change(async (session) => {
      for (const row of rows) await session.rows(numbered(TAKE_KEY), rowCells(row));
    });
  }

  async revoke(id: string, nowMs: number): Promise<KeyRow | undefined> {
    return await this.#change(async (session) => {
      await session.rows(numbered(REVOKE_KEY), [nowMs, id]);
      return await selectRow(session, id);
    });
  }

  async configure(id: string, change: (old: KeyRow | undefined) => KeyRow): Promise<void> {
    await this.#change(async (session) => {
      const row = change(await selectRow(session, id, 'FOR UPDATE'));
      await session.rows(numbered(CONFIGURE_KEY), [...configuredCells(row), id]);
    });
  }

  async replace(id: string, succeed: (old: KeyRow | undefined) => Replacement): Promise<void> {
    await this.#change(async (session) => {
      const { successor, retiresMs } = succeed(await selectRow(session, id, 'FOR UPDATE'));
      await session.rows(numbered(INSERT_KEY), rowCells(successor));
      await session.rows(numbered(RETIRE_KEY), [retiresMs, successor.id, id]);
    });
  }

  async rename(organization: string, newName: string, transaction?: KeyStatements): Promise<void> {
    await this.#change(
      (session) => session.rows(numbered(RENAME_KEYS), [newName, organization]),
      transaction,
    );
  }

  async remove(organization: string, transaction?: KeyStatements): Promise<void> {
    await this.#change((session) => session.rows(numbered(REMOVE_KEYS), [organization]), transaction);
  }

  /**
   * Runs `change` and increments the counter, in a transaction of their own or in the one that is
   * given.
   */
  async #change<T>(change: (session: KeyStatements) => Promise<T>, transaction?: KeyStatements): Promise<T> {
    if (transaction !== undefined) {
      const result = await change(transaction);
      await transaction.rows(COUNT_CHANGE);
      return result;
    }
    return await this.#database.session(async (session) => {
      await session.rows('BEGIN');
      const result = await change(session);
      // Last, because every change of a key waits for the lock of this one row.
      await session.rows(COUNT_CHANGE);
      await session.rows('COMMIT');
      return result;
    });
  }

  noteUse(id: string, nowMs: number, beforeMs: number): void {
    this.#used.add(id);
    this.#use = { nowMs, beforeMs };
    this.#writing ??= this.#writeUses();
  }

  /**
   * Writes all uses that have gathered in one statement on one connection, so that uses of
   * thousands of keys do not delay look-ups.
   */
  async #writeUses(): Promise<void> {
    while (this.#used.size > 0) {
      // Uses of the same turn of the event loop are written together.
      await setImmediate();
      const used = [...this.#used];
      this.#used.clear();
      try {
        await this.#database.rows(NOTE_USES, [used, this.#use.nowMs, this.#use.beforeMs]);
      } catch {
        // The database is unreachable or read-only: requests continue without the record.
      }
    }
    this.#writing = undefined;
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#database.close();
  }
}

async function selectRow(asking: KeyStatements, id: string, lock = ''): Promise<KeyRow | undefined> {
  const [cells] = await asking.rows(`${numbered(selectKey())} ${lock}`, [id]);
  return cells && readRow(cells);
}

/** A statement for both databases, with its parameters in PostgreSQL's notation. */
function numbered(sql: string): string {
  let number = 0;
  return sql.replaceAll('?', () => `$${++number}`);
}

/** Throws `database-away` when the promise is not settled in time. */
async function inTime<T>(answer: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const away = new AppError('database-away', 'The database does not respond. Try again in a moment.');
  const timer = setTimeout(() => late.reject(away), ANSWER_TIMEOUT_MS);
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
