/**
 * The organizations of a data directory, their settings and the generation in force, in one SQLite file. Putting a
 * generation in force is one transaction, so that settings and data change together or not at all (decision 31).
 */
import { randomBytes } from 'node:crypto';
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { inTransaction, openPrivateDatabase } from '../../private-database.ts';
import {
  checkOrganizationName,
  defaultSettings,
  existingOrganization,
  LARGE_ID,
  unknownOrganization,
} from '../organization-name.ts';
import type { OrganizationEntry, Settings } from '../store.ts';
import { derivedIds, userPointsKey } from '../stored-values.ts';

/** What the catalog knows of an organization, with the generation in force; absent while nothing is published. */
export interface CatalogEntry extends OrganizationEntry {
  readonly generation: number | undefined;
}

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

export class Catalog {
  readonly #database: DatabaseSync;

  constructor(dataFolder: string) {
    this.#database = openPrivateDatabase(dataFolder, 'catalog.db');
    prepareSchema(this.#database);
  }

  all(): readonly CatalogEntry[] {
    return this.#select('ORDER BY name').map(entryOf);
  }

  /** Throws `organization-unknown`. */
  entry(name: string): CatalogEntry {
    const entry = this.find(name);
    if (entry === undefined) throw unknownOrganization(name);
    return entry;
  }

  find(name: string): CatalogEntry | undefined {
    return this.#select('WHERE name = ?', name).map(entryOf)[0];
  }

  /** Throws `organization-exists` when the name is taken, ignoring case; ids may repeat (decision 36). */
  create(name: string, settings: Partial<Settings>): CatalogEntry {
    checkOrganizationName(name);
    inTransaction(this.#database, () => {
      if (this.#select('WHERE name = ?', name).length > 0) throw existingOrganization(name);
      this.#insert(name, { ...defaultSettings(name, this.#largestId()), ...settings });
    });
    return this.entry(name);
  }

  /** Puts a generation with its settings in force, durably. */
  publish(name: string, settings: Settings, generation: number, version: string): void {
    this.#write(name, settings, 'generation = ?, version = ?', [generation, version]);
  }

  /** Puts a copy in force, durably: a generation, absent where nothing is published, with all of the original's entry. */
  adopt(original: OrganizationEntry, generation: number | undefined): void {
    const { name, settings, secret, version } = original;
    this.#write(name, settings, 'generation = ?, version = ?, secret = ?, derived_ids = ?', [
      generation ?? null,
      version ?? null,
      secret,
      original.derivedIds,
    ]);
  }

  /** Keeps settings of an organization that has nothing published yet. */
  configure(name: string, settings: Settings): void {
    this.#write(name, settings, 'generation = generation', []);
  }

  currentVersion(name: string): string | undefined {
    return this.entry(name).version;
  }

  close(): void {
    this.#database.close();
  }

  #select(where: string, ...values: (string | bigint | null)[]): Record<string, SQLOutputValue>[] {
    const statement = this.#database.prepare(`SELECT * FROM organizations ${where}`);
    statement.setReadBigInts(true);
    return statement.all(...values);
  }

  #largestId(): bigint {
    const row = this.#database.prepare(
      'SELECT coalesce(max(id), 0) AS largest FROM organizations WHERE id < ?',
    );
    row.setReadBigInts(true);
    const largest = row.get(LARGE_ID)?.['largest'];
    return typeof largest === 'bigint' ? largest : 0n;
  }

  #insert(name: string, settings: Settings): void {
    this.#database
      .prepare(
        `INSERT INTO organizations (name, id, title, domain, category_id, course_lookup,
         lms_user_properties, policy, user_points_key, secret, derived_ids)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'keyed')`,
      )
      .run(name, ...columnsOf(settings), randomBytes(32));
  }

  #write(
    name: string,
    settings: Settings,
    assignments: string,
    values: (number | string | Uint8Array | null)[],
  ): void {
    this.#database
      .prepare(
        `UPDATE organizations SET id = ?, title = ?, domain = ?, category_id = ?, course_lookup = ?,
         lms_user_properties = ?, policy = ?, user_points_key = ?, ${assignments} WHERE name = ?`,
      )
      .run(...columnsOf(settings), ...values, name);
  }
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

function columnsOf(settings: Settings) {
  return [
    settings.id,
    settings.title,
    settings.domain,
    settings.categoryId,
    settings.courseLookup ? 1 : 0,
    JSON.stringify(settings.lmsUserProperties),
    settings.policy,
    settings.userPointsKey,
  ] as const;
}

function entryOf(row: Record<string, SQLOutputValue>): CatalogEntry {
  const secret = row['secret'];
  if (!(secret instanceof Uint8Array)) throw new Error('the catalog holds no secret for an organization');
  return {
    name: String(row['name']),
    settings: {
      id: BigInt(row['id'] as bigint),
      title: String(row['title']),
      domain: String(row['domain']),
      categoryId: BigInt(row['category_id'] as bigint),
      courseLookup: row['course_lookup'] === 1n,
      lmsUserProperties: JSON.parse(String(row['lms_user_properties'])),
      userPointsKey: userPointsKey(row['user_points_key']),
      policy: String(row['policy']),
    },
    version: row['version'] === null ? undefined : String(row['version']),
    generation: row['generation'] === null ? undefined : Number(row['generation']),
    secret,
    derivedIds: derivedIds(row['derived_ids']),
  };
}
