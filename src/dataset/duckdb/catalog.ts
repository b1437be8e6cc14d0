/**
 * The organizations of a data directory, their settings and the generation in force, in one SQLite file. Putting a
 * generation in force is one transaction, so that settings and data change together or not at all (decision 31).
 */
import { randomBytes } from 'node:crypto';
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { AppError } from '../../app-error.ts';
import { openPrivateDatabase } from '../../private-database.ts';
import type { OrganizationEntry, Settings } from '../store.ts';

/** What the catalog knows of an organization, with the generation in force; absent while nothing is published. */
export interface CatalogEntry extends OrganizationEntry {
  readonly generation: number | undefined;
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS organizations (
    name TEXT PRIMARY KEY COLLATE NOCASE, id INTEGER NOT NULL, title TEXT NOT NULL, domain TEXT NOT NULL,
    category_id INTEGER NOT NULL, course_lookup INTEGER NOT NULL, lms_user_properties TEXT NOT NULL,
    policy TEXT NOT NULL, secret BLOB NOT NULL, generation INTEGER, version TEXT
  ) STRICT;`;

/** A folder name on every file system, and readable on a command line. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9 ._-]{0,62}[A-Za-z0-9_-]$|^[A-Za-z0-9]$/;

export class Catalog {
  readonly #database: DatabaseSync;

  constructor(dataFolder: string) {
    this.#database = openPrivateDatabase(dataFolder, 'catalog.db');
    this.#database.exec(SCHEMA);
  }

  all(): readonly CatalogEntry[] {
    return this.#select('ORDER BY name').map(entryOf);
  }

  /** Throws `organization-unknown`. */
  entry(name: string): CatalogEntry {
    const [row] = this.#select('WHERE name = ?', name);
    if (row === undefined) throw unknownOrganization(name);
    return entryOf(row);
  }

  /** Throws `organization-exists` when the name is taken, ignoring case; ids may repeat (decision 36). */
  create(name: string, settings: Partial<Settings>): CatalogEntry {
    if (!NAME.test(name)) {
      throw new AppError(
        'organization-malformed',
        `"${name}" cannot name an organization: use 1 to 64 letters, digits, spaces, ".", "_" and "-", beginning with a letter or a digit.`,
      );
    }
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      if (this.#select('WHERE name = ?', name).length > 0) throw existingOrganization(name);
      this.#insert(name, { ...this.#defaults(name), ...settings });
      this.#database.exec('COMMIT');
    } catch (error) {
      this.#database.exec('ROLLBACK');
      throw error;
    }
    return this.entry(name);
  }

  /** Puts a generation with its settings in force, durably. */
  publish(name: string, settings: Settings, generation: number, version: string): void {
    this.#write(name, settings, 'generation = ?, version = ?', [generation, version]);
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

  #defaults(name: string): Settings {
    const row = this.#database.prepare(
      'SELECT coalesce(max(id), 0) AS largest FROM organizations WHERE id < ?',
    );
    row.setReadBigInts(true);
    const largest = row.get(2n ** 62n)?.['largest'];
    return {
      id: (typeof largest === 'bigint' ? largest : 0n) + 1n,
      title: name,
      domain: '',
      categoryId: 0n,
      courseLookup: false,
      lmsUserProperties: [],
      policy: '',
    };
  }

  #insert(name: string, settings: Settings): void {
    this.#database
      .prepare('INSERT INTO organizations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)')
      .run(name, ...columnsOf(settings), randomBytes(32));
  }

  #write(name: string, settings: Settings, assignments: string, values: (number | string)[]): void {
    this.#database
      .prepare(
        `UPDATE organizations SET id = ?, title = ?, domain = ?, category_id = ?, course_lookup = ?,
         lms_user_properties = ?, policy = ?, ${assignments} WHERE name = ?`,
      )
      .run(...columnsOf(settings), ...values, name);
  }
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
      policy: String(row['policy']),
    },
    version: row['version'] === null ? undefined : String(row['version']),
    generation: row['generation'] === null ? undefined : Number(row['generation']),
    secret,
  };
}

function unknownOrganization(name: string): AppError {
  return new AppError(
    'organization-unknown',
    `There is no organization "${name}". See "corkboard organizations list", or make it with "corkboard organizations create".`,
  );
}

function existingOrganization(name: string): AppError {
  return new AppError(
    'organization-exists',
    `An organization "${name}" exists already; choose another name.`,
  );
}
