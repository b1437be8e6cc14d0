/**
 * The catalog of a data folder, in one SQLite file. One statement makes a version current, so that
 * settings and data change together (decision 33).
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { AppError } from '../../domain/app-error.ts';
import { inTransaction, PrivateDatabase, removeRemains } from '../../system/private-database.ts';
import {
  acceptRow,
  addSeals,
  extendSeals,
  isDamaged,
  refuseChangedSchema,
  type SealedTable,
  sealCheck,
  sealSchema,
} from '../../system/row-seal.ts';
import { unfinishedRenaming, unknownOrganization } from '../organization-name.ts';
import type { OrganizationEntry, Settings } from '../store.ts';
import { text } from '../stored-values.ts';
import {
  assignments,
  type Catalog,
  type CatalogEntry,
  type CatalogStatements,
  COLUMNS,
  type ColumnValue,
  copiedColumns,
  emptyColumns,
  insertOrganization,
  type NextHead,
  Organizations,
  type ReplacedOrganization,
  refuseTaken,
  renameOrganization,
  SELECT,
  settingsColumns,
} from './catalog.ts';

const FILE = 'catalog.db';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS organizations (
    name TEXT PRIMARY KEY COLLATE NOCASE, id INTEGER NOT NULL, title TEXT NOT NULL, domain TEXT NOT NULL,
    category_id INTEGER NOT NULL, course_lookup INTEGER NOT NULL, lms_user_properties TEXT NOT NULL,
    policy TEXT NOT NULL, secret BLOB NOT NULL, generation INTEGER, version TEXT,
    derived_ids TEXT NOT NULL DEFAULT 'plain', user_points_key TEXT NOT NULL DEFAULT 'user-id'
  ) STRICT;`;

/**
 * Names that an organization has beside its own until its renaming has finished: the new one until
 * the catalog has switched to it, and the former one after that.
 */
const FORMER_NAMES = `
  CREATE TABLE former_names (former TEXT PRIMARY KEY COLLATE NOCASE, name TEXT NOT NULL) STRICT`;

const SEALED: SealedTable = {
  file: FILE,
  name: 'organizations',
  key: 'name',
  columns: COLUMNS,
  describe: (name) =>
    `The entry of ${name} in ${FILE} is damaged. Restore the organization: corkboard restore BACKUP --replace --organization ${JSON.stringify(name)}`,
};

/** The columns that the first seals were made of. */
const FIRST_SEALED = COLUMNS.filter((column) => column !== 'rules');

/** Columns that were added later, with the statements that add them. */
const LATER_COLUMNS = {
  // Organizations without data have no derived ids yet, so theirs are keyed, as for new
  // organizations.
  derived_ids: `
    ALTER TABLE organizations ADD derived_ids TEXT NOT NULL DEFAULT 'plain';
    UPDATE organizations SET derived_ids = 'keyed' WHERE version IS NULL;`,
  user_points_key: `
    ALTER TABLE organizations ADD user_points_key TEXT NOT NULL DEFAULT 'user-id';`,
  seal: addSeals({ ...SEALED, columns: FIRST_SEALED }),
  rules: `
    ALTER TABLE organizations ADD rules TEXT NOT NULL DEFAULT '{}';
    ${extendSeals(SEALED, FIRST_SEALED)}`,
};

/** A table of one row at most. */
const AUDIT_HEAD = `
  CREATE TABLE audit_head (
    one INTEGER PRIMARY KEY CHECK (one = 1), sequence INTEGER NOT NULL, digest TEXT NOT NULL
  ) STRICT;`;

/** Names of organizations whose removal has begun. */
const REMOVALS = 'CREATE TABLE removals (name TEXT PRIMARY KEY COLLATE NOCASE) STRICT;';

/** Tables that were added later. */
const LATER_TABLES = { former_names: FORMER_NAMES, audit_head: AUDIT_HEAD, removals: REMOVALS };

/**
 * Opens the catalog of a data folder, and creates both if there is none. Throws `data-unreadable`.
 */
export function openSqliteCatalog(dataFolder: string): SqliteCatalog {
  const database = new PrivateDatabase(dataFolder, SEALED, prepareSchema);
  return new SqliteCatalog(new SqliteFile(database));
}

/** The last audit record of the data folder (decision 87). */
interface AuditHeadRow {
  readonly sequence: number;
  /** SHA-256, in hexadecimal digits. */
  readonly digest: string;
}

/** A copy of an organization, and the number of its version here; absent without data. */
export interface Copy {
  readonly original: OrganizationEntry;
  readonly publication: number | undefined;
}

interface Known {
  readonly name: string;
  readonly publication: number | undefined;
}

export class SqliteCatalog extends Organizations implements Catalog {
  readonly #database: SqliteFile;

  constructor(database: SqliteFile) {
    super(database, sealCheck(SEALED), isDamaged(SEALED));
    this.#database = database;
  }

  async findDamage(): Promise<readonly string[]> {
    return await this.#database.findDamage();
  }

  /** Until a renaming has finished, keys and commands may still use the former name. */
  override async find(name: string): Promise<CatalogEntry | undefined> {
    const entry = await super.find(name);
    if (entry !== undefined) return entry;
    const renamed = await renamedTo(this.#database, name);
    return renamed === undefined ? undefined : await super.find(renamed);
  }

  override async replacedBy(original: OrganizationEntry): Promise<ReplacedOrganization | undefined> {
    return await replacedBy(this.#database, original);
  }

  /** Throws `data-unreadable` if the entry may be missing because the file is damaged. */
  override async entry(name: string): Promise<CatalogEntry> {
    const entry = await this.find(name);
    if (entry !== undefined) return entry;
    await this.#database.confirmAbsence();
    throw unknownOrganization(name);
  }

  async create(name: string, settings: Partial<Settings>): Promise<CatalogEntry> {
    return await this.#database.transact(async (transaction) => {
      await refuseFormer(transaction, name);
      return await insertOrganization(transaction, name, settings);
    });
  }

  /**
   * Notes, durably, that an organization is about to get a name, so that whatever is stored under
   * that name is found if the command is killed. Throws the errors of `rename`.
   */
  async beginRenaming(name: string, newName: string): Promise<void> {
    await this.#database.transact(async (transaction) => {
      await refuseFormer(transaction, newName, name);
      await refuseTaken(transaction, name, newName);
      await insertFormer(transaction, newName, name);
    });
  }

  /**
   * Changes the name of an organization, durably. The former name remains valid in `find` until
   * `endRenaming`. Throws `organization-exists`, `organization-malformed`.
   */
  async rename(name: string, newName: string): Promise<void> {
    await this.#database.transact(async (transaction) => {
      await refuseFormer(transaction, newName, name);
      await renameOrganization(transaction, name, newName);
      await transaction.rows('UPDATE former_names SET name = $1 WHERE name = $2', [newName, name]);
      await transaction.rows('DELETE FROM former_names WHERE former = $1', [newName]);
      await insertFormer(transaction, name, newName);
    });
  }

  /** Throws the errors of `rename`. */
  async refuseTaken(name: string, newName: string): Promise<void> {
    await refuseFormer(this.#database, newName, name);
    await refuseTaken(this.#database, name, newName);
  }

  /** The other names of an organization whose renaming has not finished. */
  async formerNames(name: string): Promise<readonly string[]> {
    const rows = await this.#database.rows('SELECT former FROM former_names WHERE name = $1', [name]);
    return rows.map(([former]) => text(former));
  }

  /** The name that an organization has now, if `name` is one of its other names. */
  async renamedTo(name: string): Promise<string | undefined> {
    return await renamedTo(this.#database, name);
  }

  /** The other names of the organization mean nothing from now on. */
  async endRenaming(name: string): Promise<void> {
    await this.#database.rows('DELETE FROM former_names WHERE name = $1', [name]);
  }

  async currentVersion(name: string): Promise<string | undefined> {
    return (await this.entry(name)).version;
  }

  /** Makes a version current, durably. */
  async publish(name: string, { settings, publication, version }: NextHead): Promise<void> {
    const columns = { ...settingsColumns(settings), generation: publication, version };
    await this.#update(name, columns);
  }

  /**
   * Makes copies current, durably and all at once, each with the whole entry of its original;
   * without data if `publication` is absent. Creates organizations that do not exist. Throws the
   * errors of `replacedBy`.
   */
  async adopt(copies: readonly Copy[]): Promise<void> {
    await this.#database.transact(async (transaction) => {
      const all: [Copy, ReplacedOrganization | undefined][] = [];
      for (const copy of copies) all.push([copy, await replacedBy(transaction, copy.original)]);
      for (const [{ original, publication }, replaced] of all) {
        const { name, settings } = original;
        if (replaced === undefined) await insertOrganization(transaction, name, settings);
        await updateRow(transaction, name, copiedColumns(original, replaced, publication));
        // Every value is new, so nothing is left of an entry that was damaged.
        await transaction.rows(acceptRow(SEALED, '$1'), [name]);
      }
    });
  }

  /**
   * Takes its version, settings and secret from an organization, durably, also if its entry is
   * damaged.
   */
  async empty(name: string): Promise<void> {
    await this.#database.transact(async (transaction) => {
      await updateRow(transaction, name, emptyColumns(name));
      await transaction.rows(acceptRow(SEALED, '$1'), [name]);
    });
  }

  /** Deletes an organization and its former names, durably. */
  async remove(name: string): Promise<void> {
    await this.#database.transact(async (transaction) => {
      await transaction.rows('DELETE FROM former_names WHERE name = $1', [name]);
      await transaction.rows('DELETE FROM removals WHERE name = $1', [name]);
      await transaction.rows('DELETE FROM organizations WHERE name = $1', [name]);
    });
  }

  /**
   * Deletes what deleted rows have left in the file. False if a different process prevents it at
   * the moment.
   */
  async purge(): Promise<boolean> {
    return await this.#database.purge();
  }

  /** The name of an organization, and the number of its current version; absent without data. */
  async publicationOf(name: string): Promise<Known | undefined> {
    const sql = 'SELECT name, generation FROM organizations WHERE lower(name) = $1';
    const [row] = await this.#database.rows(sql, [name.toLowerCase()]);
    return row && { name: text(row[0]), publication: row[1] === null ? undefined : Number(row[1]) };
  }

  /** Stores settings of an organization that has no published version. */
  async configure(name: string, settings: Settings): Promise<void> {
    await this.#update(name, settingsColumns(settings));
  }

  /** Absent before the first audit record. */
  async auditHead(): Promise<AuditHeadRow | undefined> {
    const [row] = await this.#database.rows('SELECT sequence, digest FROM audit_head');
    return row && { sequence: Number(row[0]), digest: text(row[1]) };
  }

  /** Durable when the promise is fulfilled. */
  async setAuditHead({ sequence, digest }: AuditHeadRow): Promise<void> {
    await this.#database.rows(
      `INSERT INTO audit_head VALUES (1, $1, $2)
      ON CONFLICT (one) DO UPDATE SET sequence = excluded.sequence, digest = excluded.digest`,
      [sequence, digest],
    );
  }

  async close(): Promise<void> {
    this.#database.close();
  }

  async #update(name: string, columns: StoredColumns): Promise<void> {
    await updateRow(this.#database, name, columns);
  }
}

type StoredColumns = Readonly<Record<string, ColumnValue>>;

async function updateRow(database: CatalogStatements, name: string, columns: StoredColumns): Promise<void> {
  const { sql, parameters } = assignments(columns);
  const where = `name = $${parameters.length + 1}`;
  await database.rows(`UPDATE organizations SET ${sql} WHERE ${where}`, [...parameters, name]);
}

/** Throws `organization-exists`, also if the name is a former one of a different organization. */
async function replacedBy(
  database: CatalogStatements,
  original: OrganizationEntry,
): Promise<ReplacedOrganization | undefined> {
  const organizations = new Organizations(database, sealCheck(SEALED), isDamaged(SEALED));
  const replaced = await organizations.replacedBy(original);
  if (replaced === undefined) await refuseFormer(database, original.name);
  return replaced;
}

async function insertFormer(transaction: CatalogStatements, former: string, name: string): Promise<void> {
  const insert = 'INSERT OR REPLACE INTO former_names (former, name) VALUES ($1, $2)';
  await transaction.rows(insert, [former, name]);
}

async function renamedTo(database: CatalogStatements, former: string): Promise<string | undefined> {
  const [row] = await database.rows('SELECT name FROM former_names WHERE former = $1', [former]);
  return row && text(row[0]);
}

/** Throws `organization-exists` if `name` is a former name, except of the organization `own`. */
async function refuseFormer(transaction: CatalogStatements, name: string, own?: string): Promise<void> {
  const renamed = await renamedTo(transaction, name);
  if (renamed === undefined || renamed === own) return;
  throw new AppError(
    'organization-exists',
    `"${name}" is still in use: ${unfinishedRenaming(name, renamed)}`,
  );
}

/** A file has one connection with one transaction at a time, so calls are queued. */
class SqliteFile implements CatalogStatements {
  readonly #database: PrivateDatabase;
  #last: Promise<unknown> = Promise.resolve();

  constructor(database: PrivateDatabase) {
    this.#database = database;
  }

  rows(sql: string, parameters: readonly ColumnValue[] = []): Promise<ColumnValue[][]> {
    return this.#inTurn(async () => this.#database.use((database) => ask(database, sql, parameters)));
  }

  /** Runs `change` in a transaction. */
  transact<T>(change: (transaction: CatalogStatements) => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      try {
        return await this.#database.use((database) => transact(database, change));
      } catch (error) {
        throw this.#database.explain(error);
      }
    });
  }

  purge(): Promise<boolean> {
    return this.#inTurn(async () => this.#database.use(removeRemains));
  }

  async findDamage(): Promise<readonly string[]> {
    return await this.#database.findDamage();
  }

  async confirmAbsence(): Promise<void> {
    await this.#database.confirmAbsence();
  }

  close(): void {
    this.#database.close();
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

async function transact<T>(
  database: DatabaseSync,
  change: (transaction: CatalogStatements) => Promise<T>,
): Promise<T> {
  // The default BEGIN would fail instead of waiting if a different process has written since.
  database.exec('BEGIN IMMEDIATE');
  try {
    const transaction = {
      rows: async (sql: string, values: readonly ColumnValue[] = []) => ask(database, sql, values),
    };
    const result = await change(transaction);
    database.exec('COMMIT');
    return result;
  } catch (error) {
    // A full disk has ended the transaction already; a failing ROLLBACK would hide the reason.
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

function ask(database: DatabaseSync, sql: string, parameters: readonly ColumnValue[]): ColumnValue[][] {
  const statement = database.prepare(sql);
  statement.setReadBigInts(true);
  statement.setReturnArrays(true);
  const named = Object.fromEntries(parameters.map((value, index) => [`$${index + 1}`, bound(value)]));
  return statement.all(named) as unknown as ColumnValue[][];
}

/** SQLite has no booleans. */
function bound(value: ColumnValue): SQLInputValue {
  return typeof value === 'boolean' ? Number(value) : value;
}

function prepareSchema(database: DatabaseSync): void {
  if (!isComplete(database)) {
    inTransaction(database, () => {
      // A different process may have added what was missing while this one waited.
      if (isComplete(database)) return;
      refuseChangedSchema(database, FILE);
      database.exec(SCHEMA);
      for (const addition of missingParts(database)) database.exec(addition);
      sealSchema(database);
    });
  }
  // Fails now if names have changed.
  database.prepare(`${SELECT}, seal FROM organizations`);
}

function isComplete(database: DatabaseSync): boolean {
  return tableNames(database).has('organizations') && missingParts(database).length === 0;
}

function tableNames(database: DatabaseSync): ReadonlySet<string> {
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  return new Set(tables.map(({ name }) => String(name)));
}

/** The statements that add the columns and tables that are missing. */
function missingParts(database: DatabaseSync): readonly string[] {
  const columns = missingColumns(database).map(([, addition]) => addition);
  const names = tableNames(database);
  const tables = Object.entries(LATER_TABLES).filter(([name]) => !names.has(name));
  return [...columns, ...tables.map(([, addition]) => addition)];
}

function missingColumns(database: DatabaseSync): [name: string, addition: string][] {
  const columns = database.prepare('PRAGMA table_info(organizations)').all();
  const names = new Set(columns.map(({ name }) => name));
  return Object.entries(LATER_COLUMNS).filter(([name]) => !names.has(name));
}
