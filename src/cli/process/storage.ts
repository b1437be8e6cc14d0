/**
 * Opens the storage of a command: the PostgreSQL database of `--database`, or else the data folder
 * of `--data`. Also closes it, even after an error.
 */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { AppError } from '../../domain/app-error.ts';
import type { KeyRows } from '../../keys/key-row.ts';
import type { Keyring } from '../../keys/keyring.ts';
import type { PostgresCatalog } from '../../store/catalog/postgres-catalog.ts';
import type { PostgresDatabase } from '../../store/catalog/postgres-database.ts';
import type { OpenPlace } from '../../store/files/shared-files.ts';
import type { VersionStore } from '../../store/files/version-store.ts';
import type { Store } from '../../store/store.ts';

const CONNECT_MS = 5_000;

export interface StorageOptions {
  readonly data: string;
  /** URL of the database, with or without its password. If absent or empty, `data` is used. */
  readonly database?: string | undefined;
  /** Folder for local copies of the versions in the database. */
  readonly cache?: string;
  /** In bytes. */
  readonly cacheLimit?: number;
  /** Memory for building a version, in bytes. If absent, the machine determines it. */
  readonly buildMemory?: number;
}

/** Large enough for the versions of most databases, and small on most disks. */
export const DEFAULT_CACHE_BYTES = 20e9;

/**
 * Opens the store. `patienceMs`: how long a caller waits for a version that is not in the local
 * cache. Throws `data-unreadable`, `database-away`.
 */
export async function openStore(options: StorageOptions, patienceMs?: number): Promise<VersionStore> {
  // Loaded only when needed, like the server and the import, so that the help and usage errors
  // appear at once.
  const { data, database: url, buildMemory } = options;
  if (!url) {
    const { openFolderStore } = await import('../../store/files/open-folder.ts');
    return await openFolderStore(data, buildMemory);
  }
  const { openSharedStore } = await import('../../store/files/open-shared.ts');
  return await meet(
    openSharedStore(await openMigrated(url), cacheOf(options), { patienceMs, buildBytes: buildMemory }),
  );
}

function cacheOf({ cache, cacheLimit }: StorageOptions) {
  return { folder: cache ?? defaultCache(), limitBytes: cacheLimit ?? DEFAULT_CACHE_BYTES };
}

/** The folder in which versions are built. */
export function folderOf({ data, database, cache }: StorageOptions): string {
  return database ? (cache ?? defaultCache()) : data;
}

/** Follows the base directory specification of freedesktop.org, also on macOS and Windows. */
export function defaultCache(): string {
  const base = process.env['XDG_CACHE_HOME'];
  return join(base !== undefined && isAbsolute(base) ? base : join(homedir(), '.cache'), 'corkboard');
}

async function openKeyring({ data, database: url }: StorageOptions): Promise<Keyring> {
  if (!url) {
    const { openSqliteKeyring } = await import('../../keys/sqlite-keyring.ts');
    return openSqliteKeyring(data);
  }
  const { openPostgresKeyring } = await import('../../keys/postgres-keyring.ts');
  return openPostgresKeyring(await openMigrated(url));
}

/** Open databases by URL: the store and the keys of a process share one. */
const databases = new Map<string, PostgresDatabase>();

/** Opens a database whose tables are up to date with this version of Corkboard. */
async function openMigrated(url: string): Promise<PostgresDatabase> {
  const opened = databases.get(url);
  if (opened?.isOpen) return opened.hold();
  const { checkMigrations } = await import('../../store/catalog/migrate.ts');
  const { PostgresDatabase } = await import('../../store/catalog/postgres-database.ts');
  const database = new PostgresDatabase(url);
  try {
    await meet(checkMigrations(database));
    databases.set(url, database);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/**
 * Explains errors of the first queries to a database. Their cause is usually a wrong URL, missing
 * privileges or the state of the database.
 */
async function meet<T>(questions: Promise<T>): Promise<T> {
  try {
    return await questions;
  } catch (error) {
    if (error instanceof AppError && error.code !== 'database-away') throw error;
    const cause = error instanceof AppError ? error.cause : error;
    const code = error instanceof AppError ? 'database-away' : 'data-unreadable';
    throw new AppError(
      code,
      `Cannot use the database (${reasonOf(cause)}). --database must name a database that can be reached, read and written.`,
      { cause: error },
    );
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // If several addresses refuse the connection, the error has no message.
  return error.message === '' && 'code' in error ? String(error.code) : error.message;
}

export interface ResidentOption {
  /** In bytes, for all workers together. If absent, the memory of the machine determines it. */
  readonly residentLimit?: number;
}

/**
 * Wraps the store for a server process: keeps datasets in memory, as far as they fit into its equal
 * share of the limit.
 */
export async function keepResident(
  store: Store,
  { residentLimit }: ResidentOption,
  workers: number,
): Promise<Store> {
  const { withResidentDatasets } = await import('../../store/resident-store.ts');
  const { defaultResidentLimit } = await import('../../store/resident-limit.ts');
  return withResidentDatasets(store, { limitBytes: (residentLimit ?? defaultResidentLimit()) / workers });
}

/** Throws `data-unreadable` if the data folder does not exist, instead of creating it. */
export async function withStore<T>(
  options: StorageOptions,
  use: (store: VersionStore) => Promise<T>,
): Promise<T> {
  requireFolder(options);
  return await withNewStore(options, use);
}

/** Creates the data folder if it does not exist, for commands that may be the first ones. */
export async function withNewStore<T>(
  options: StorageOptions,
  use: (store: VersionStore) => Promise<T>,
  patienceMs?: number,
): Promise<T> {
  const store = await openStore(options, patienceMs);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Throws `data-unreadable` if the data folder does not exist. */
export async function withKeyring<T>(
  options: StorageOptions,
  use: (keyring: Keyring) => Promise<T>,
): Promise<T> {
  requireFolder(options);
  const keyring = await openKeyring(options);
  try {
    return await use(keyring);
  } finally {
    await keyring.close();
  }
}

/** Whether the data folder exists or a database is named. */
export function hasStorage({ data, database: url }: StorageOptions): boolean {
  return Boolean(url) || existsSync(data);
}

/** Throws `data-unreadable` if the data folder does not exist. */
export function requireFolder(options: StorageOptions): void {
  if (hasStorage(options)) return;
  throw new AppError(
    'data-unreadable',
    `There is no data folder ${options.data}. Name an existing one with --data or CORKBOARD_DATA. ` +
      '"corkboard import" and "corkboard organizations create" create a new one.',
  );
}

/** Opens a database whose tables may be out of date. Its statements have no time limit. */
export async function withDatabase<T>(
  url: string,
  use: (database: PostgresDatabase) => Promise<T>,
): Promise<T> {
  const { PostgresDatabase } = await import('../../store/catalog/postgres-database.ts');
  const database = new PostgresDatabase(url, { connectMs: CONNECT_MS, answerMs: 0 });
  try {
    return await meet(use(database));
  } finally {
    await database.close();
  }
}

/** Opens the catalog of a migrated database. `openPlace` opens places for its chunks. */
export async function withCatalog<T>(
  url: string,
  use: (catalog: PostgresCatalog, openPlace: OpenPlace) => Promise<T>,
): Promise<T> {
  const { PostgresCatalog } = await import('../../store/catalog/postgres-catalog.ts');
  const { openPlace } = await import('../../store/chunks/places.ts');
  const database = await openMigrated(url);
  const catalog = new PostgresCatalog(database);
  try {
    return await use(catalog, (address) => openPlace(address, database));
  } finally {
    await catalog.close();
  }
}

/** A store in a folder or a database, with its keys, for copying organizations. */
export interface DataPlace {
  readonly store: VersionStore;
  readonly keys: KeyRows;
}

/**
 * Opens the store in a database or a folder. With `mustExist`, throws `data-unreadable` if the
 * folder does not exist, instead of creating it.
 */
export async function withPlace<T>(
  options: StorageOptions,
  mustExist: boolean,
  use: (place: DataPlace) => Promise<T>,
): Promise<T> {
  const store = await (mustExist ? openExisting(options) : openStore(options));
  let keys: KeyRows | undefined;
  try {
    keys = await openKeyRows(options);
    return await use({ store, keys });
  } finally {
    await keys?.close();
    await store.close();
  }
}

async function openExisting(options: StorageOptions): Promise<VersionStore> {
  if (options.database) return await openStore(options);
  const { openExistingFolderStore } = await import('../../store/files/open-folder.ts');
  return await openExistingFolderStore(options.data);
}

async function openKeyRows({ database: url, data }: StorageOptions): Promise<KeyRows> {
  if (!url) {
    const { openSqliteKeyRows } = await import('../../keys/sqlite-keyring.ts');
    return openSqliteKeyRows(data);
  }
  const { openPostgresKeyRows } = await import('../../keys/postgres-keyring.ts');
  return openPostgresKeyRows(await openMigrated(url));
}
