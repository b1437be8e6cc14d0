/**
 * The catalog of a data folder, in one SQLite file. Putting a version in force is one statement, so
 * that settings and data change together or not at all (decision 31).
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { Kysely, type SqliteDatabase, SqliteDialect, type SqliteStatement } from 'kysely';
import type { OrganizationEntry, Settings } from '../../dataset/store.ts';
import { inTransaction, openPrivateDatabase } from '../../private-database.ts';
import {
  type Catalog,
  type CatalogEntry,
  type Head,
  identityColumns,
  insertOrganization,
  type OrganizationRow,
  Organizations,
  type OrganizationTables,
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
  return new SqliteCatalog(new Kysely({ dialect: new SqliteDialect({ database: adapted(database) }) }));
}

export class SqliteCatalog extends Organizations implements Catalog {
  readonly #database: Kysely<OrganizationTables>;

  constructor(database: Kysely<OrganizationTables>) {
    super(database);
    this.#database = database;
  }

  async create(name: string, settings: Partial<Settings>): Promise<CatalogEntry> {
    return await this.#database
      .transaction()
      .execute(async (transaction) => await insertOrganization(transaction, name, settings));
  }

  async currentVersion(name: string): Promise<string | undefined> {
    return (await this.entry(name)).version;
  }

  /** Puts a version in force, durably. */
  async publish(name: string, { settings, publication, version }: Head): Promise<void> {
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
    await this.#database.destroy();
  }

  async #update(name: string, columns: Partial<OrganizationRow>): Promise<void> {
    await this.#database.updateTable('organizations').set(columns).where('name', '=', name).execute();
  }
}

/** SQLite of Node.js as Kysely wants it. */
function adapted(database: DatabaseSync): SqliteDatabase {
  return {
    prepare: (statement) => adaptedStatement(database, statement),
    close: () => database.close(),
  };
}

function adaptedStatement(database: DatabaseSync, text: string): SqliteStatement {
  // Begun as by default, a transaction that writes fails when another one has written meanwhile,
  // instead of waiting.
  const statement = database.prepare(text === 'begin' ? 'begin immediate' : text);
  statement.setReadBigInts(true);
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...parameters.map(bound)),
    run: (parameters) => {
      // A full disk has ended the transaction already, and the reason must not be lost.
      if (text === 'rollback' && !database.isTransaction) return { changes: 0, lastInsertRowid: 0 };
      return statement.run(...parameters.map(bound));
    },
    iterate: (parameters) => statement.iterate(...parameters.map(bound)),
  };
}

/** SQLite has no booleans. */
function bound(value: unknown): SQLInputValue {
  return typeof value === 'boolean' ? Number(value) : (value as SQLInputValue);
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
