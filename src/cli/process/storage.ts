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
import type { StoredKeyring } from '../../keys/stored-keyring.ts';
import type { PostgresCatalog } from '../../store/catalog/postgres-catalog.ts';
import type { OpenPlace } from '../../store/files/shared-files.ts';
import type { VersionStore } from '../../store/files/version-store.ts';
import type { Store } from '../../store/store.ts';
import { recordChanges, recordKeyChanges } from './audit.ts';
import { explainErrors, openMigrated } from './database.ts';

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
  /** For a data folder of the program itself: changes are not recorded in its audit. */
  readonly isUnrecorded?: boolean;
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
  return await explainErrors(
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

async function openKeyring({ data, database: url }: StorageOptions): Promise<StoredKeyring> {
  if (!url) {
    const { openSqliteKeyring } = await import('../../keys/sqlite-keyring.ts');
    return openSqliteKeyring(data);
  }
  const { openPostgresKeyring } = await import('../../keys/postgres-keyring.ts');
  return openPostgresKeyring(await openMigrated(url));
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
  recordChanges(options, store);
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
  recordKeyChanges(options, keyring);
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

/** A dry run creates no data folder: if there is none, it uses an empty temporary one. */
export async function withDryStorage<O extends StorageOptions, T>(
  options: O,
  use: (options: O) => Promise<T>,
): Promise<T> {
  if (hasStorage(options)) return await use(options);
  const { openTemporaryFolder, removeFoldersOnSignals } = await import('../../system/temporary-folder.ts');
  removeFoldersOnSignals();
  using folder = openTemporaryFolder();
  return await use({ ...options, data: join(folder.path, 'data') });
}

/** Whether the data folder has been used by a command that writes, or a database is named. */
export function hasCatalog({ data, database: url }: StorageOptions): boolean {
  return Boolean(url) || existsSync(join(data, 'catalog.db'));
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
  if (!options.isUnrecorded) recordChanges(options, store);
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
