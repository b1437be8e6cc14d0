/**
 * The catalog of a data folder, in one SQLite file. Putting a version in force is one statement, so
 * that settings and data change together or not at all (decision 33).
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { inTransaction, openPrivateDatabase } from '../../system/private-database.ts';
import type { OrganizationEntry, Settings } from '../store.ts';
import {
  assignments,
  type Catalog,
  type CatalogEntry,
  type CatalogStatements,
  type ColumnValue,
  identityColumns,
  insertOrganization,
  type NextHead,
  Organizations,
  settingsColumns,
} from './catalog.ts';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS organizations (
    name TEXT PRIMARY KEY COLLATE NOCASE, id INTEGER NOT NULL, title TEXT NOT NULL, domain TEXT NOT NULL,
    category_id INTEGER NOT NULL, course_lookup INTEGER NOT NULL, lms_user_properties TEXT NOT NULL,
    policy TEXT NOT NULL, secret BLOB NOT NULL, generation INTEGER, version TEXT,
    derived_ids TEXT NOT NULL DEFAULT 'plain', user_points_key TEXT NOT NULL DEFAULT 'user-id'
  ) STRICT;`;

/** Columns that came later, and what adds them. */
const LATER_COLUMNS = {
  // Organizations that have no data yet have derived nothing, so theirs are keyed like those of new
  // ones.
  derived_ids: `
    ALTER TABLE organizations ADD derived_ids TEXT NOT NULL DEFAULT 'plain';
    UPDATE organizations SET derived_ids = 'keyed' WHERE version IS NULL;`,
  user_points_key: `
    ALTER TABLE organizations ADD user_points_key TEXT NOT NULL DEFAULT 'user-id';`,
};

/** Opens the catalog of a data folder, making both when there is none. Throws `data-unreadable`. */
export function openSqliteCatalog(dataFolder: string): SqliteCatalog {
  const database = openPrivateDatabase(dataFolder, 'catalog.db');
  prepareSchema(database);
  return new SqliteCatalog(new SqliteFile(database));
}

export class SqliteCatalog extends Organizations implements Catalog {
  readonly #database: SqliteFile;

  constructor(database: SqliteFile) {
    super(database);
    this.#database = database;
  }

  async create(name: string, settings: Partial<Settings>): Promise<CatalogEntry> {
    return await this.#database.transact((transaction) => insertOrganization(transaction, name, settings));
  }

  async currentVersion(name: string): Promise<string | undefined> {
    return (await this.entry(name)).version;
  }

  /** Puts a version in force, durably. */
  async publish(name: string, { settings, publication, version }: NextHead): Promise<void> {
    const columns = { ...settingsColumns(settings), generation: publication, version };
    await this.#update(name, columns);
  }

  /** Puts a copy in force, durably, with all of the original's entry; without data where `publication` is absent. */
  async adopt(original: OrganizationEntry, publication: number | undefined): Promise<void> {
    const { name, settings } = original;
    const columns = { ...settingsColumns(settings), ...identityColumns(original, publication) };
    await this.#update(name, columns);
  }

  /** Keeps settings of an organization that has nothing published yet. */
  async configure(name: string, settings: Settings): Promise<void> {
    await this.#update(name, settingsColumns(settings));
  }

  async close(): Promise<void> {
    this.#database.close();
  }

  async #update(name: string, columns: Readonly<Record<string, ColumnValue>>): Promise<void> {
    const { sql, parameters } = assignments(columns);
    const where = `name = $${parameters.length + 1}`;
    await this.#database.rows(`UPDATE organizations SET ${sql} WHERE ${where}`, [...parameters, name]);
  }
}

/** A file has one connection, which has one transaction at a time: one after the other. */
class SqliteFile implements CatalogStatements {
  readonly #database: DatabaseSync;
  #last: Promise<unknown> = Promise.resolve();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  rows(sql: string, parameters: readonly ColumnValue[] = []): Promise<ColumnValue[][]> {
    return this.#inTurn(async () => this.#ask(sql, parameters));
  }

  /** Does all that `change` does, or nothing. */
  transact<T>(change: (transaction: CatalogStatements) => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      // Begun as by default, a transaction that writes fails when another one has written
      // meanwhile, instead of waiting.
      this.#database.exec('BEGIN IMMEDIATE');
      try {
        const asking = {
          rows: async (sql: string, values: readonly ColumnValue[] = []) => this.#ask(sql, values),
        };
        const result = await change(asking);
        this.#database.exec('COMMIT');
        return result;
      } catch (error) {
        // A full disk has ended the transaction already, and the reason must not be lost.
        if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
        throw error;
      }
    });
  }

  close(): void {
    this.#database.close();
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  #ask(sql: string, parameters: readonly ColumnValue[]): ColumnValue[][] {
    const statement = this.#database.prepare(sql);
    statement.setReadBigInts(true);
    statement.setReturnArrays(true);
    const named = Object.fromEntries(parameters.map((value, index) => [`$${index + 1}`, bound(value)]));
    return statement.all(named) as unknown as ColumnValue[][];
  }
}

/** SQLite has no booleans. */
function bound(value: ColumnValue): SQLInputValue {
  return typeof value === 'boolean' ? Number(value) : value;
}

function prepareSchema(database: DatabaseSync): void {
  database.exec(SCHEMA);
  if (missingColumns(database).length === 0) return;
  inTransaction(database, () => {
    // Another process may have added them while this one waited.
    for (const [, addition] of missingColumns(database)) database.exec(addition);
  });
}

function missingColumns(database: DatabaseSync): [name: string, addition: string][] {
  const columns = database.prepare('PRAGMA table_info(organizations)').all();
  const names = new Set(columns.map(({ name }) => name));
  return Object.entries(LATER_COLUMNS).filter(([name]) => !names.has(name));
}
