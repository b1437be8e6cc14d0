/**
 * Where a command has its data: the PostgreSQL database that `--database` names, else the data folder of `--data`.
 * Opens what lives there, and closes it whatever happens.
 */
import { existsSync } from 'node:fs';
import { AppError } from '../app-error.ts';
import type { Copying } from '../dataset/copying.ts';
import type { Database } from '../dataset/postgres/database.ts';
import type { Store } from '../dataset/store.ts';
import type { KeyRows } from '../keys/key-row.ts';
import type { Keyring } from '../keys/keyring.ts';
import { remark } from './output.ts';

export interface StorageOptions {
  readonly data: string;
  /** Address of the database, with or without its password; absent or empty: the folder. */
  readonly database?: string | undefined;
  /** Addresses of its replicas, for servers. */
  readonly databaseRead?: readonly string[];
}

/** The store. Throws `data-unreadable`, `database-away`. */
export async function openStore({ data, database: url, databaseRead }: StorageOptions): Promise<Store> {
  // Loaded only when it is needed, like the server and the import, so that help and misuse answer at once.
  if (!url) {
    const { openDuckdbStore } = await import('../dataset/duckdb/store.ts');
    return await openDuckdbStore(data);
  }
  await (await openMigrated(url)).close();
  const { openPostgresStore } = await import('../dataset/postgres/store.ts');
  await tryReplicas(databaseRead ?? []);
  return await openPostgresStore(url, databaseRead);
}

/** A replica that cannot be used is told, but keeps nobody from serving: the primary answers in its place. */
async function tryReplicas(urls: readonly string[]): Promise<void> {
  const { checkMigrations } = await import('../dataset/postgres/migrate.ts');
  await Promise.all(
    urls.map(async (url) => {
      const database = await connect(url);
      try {
        await checkMigrations(database);
      } catch (error) {
        const reason = reasonOf(error instanceof AppError ? (error.cause ?? error) : error);
        remark(`corkboard: The replica ${new URL(url).host} is not read from for now (${reason}).`);
      } finally {
        await database.close();
      }
    }),
  );
}

async function openKeyring({ data, database: url }: StorageOptions): Promise<Keyring> {
  if (!url) {
    const { openSqliteKeyring } = await import('../keys/sqlite-keyring.ts');
    return openSqliteKeyring(data);
  }
  const { openPostgresKeyring } = await import('../keys/postgres-keyring.ts');
  return openPostgresKeyring(await openMigrated(url));
}

/** A database whose tables are those of this version. */
async function openMigrated(url: string): Promise<Database> {
  const { checkMigrations } = await import('../dataset/postgres/migrate.ts');
  const database = await connect(url);
  try {
    await meet(checkMigrations(database));
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function connect(url: string): Promise<Database> {
  const { Database } = await import('../dataset/postgres/database.ts');
  return new Database(url);
}

/** The first questions to a database: what refuses them is most often its address, its rights or its state. */
async function meet<T>(questions: Promise<T>): Promise<T> {
  try {
    return await questions;
  } catch (error) {
    if (error instanceof AppError && error.code !== 'database-away') throw error;
    const cause = error instanceof AppError ? error.cause : error;
    const code = error instanceof AppError ? 'database-away' : 'data-unreadable';
    throw new AppError(
      code,
      `The database cannot be used (${reasonOf(cause)}); --database must name one that can be reached, read and written.`,
      { cause: error },
    );
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Several addresses that all refuse make an error without words.
  return error.message === '' && 'code' in error ? String(error.code) : error.message;
}

export interface ResidentOption {
  /** In bytes, for all workers together; absent: by the memory of the machine. */
  readonly residentLimit?: number;
}

/** The same store for a server, whose datasets are kept in memory as far as they fit into its share of the limit. */
export async function keepResident(
  store: Store,
  { residentLimit }: ResidentOption,
  workers: number,
): Promise<Store> {
  const { withResidentDatasets } = await import('../dataset/resident/store.ts');
  const { defaultResidentLimit } = await import('../dataset/resident/limit.ts');
  return withResidentDatasets(store, { limitBytes: (residentLimit ?? defaultResidentLimit()) / workers });
}

/** Throws `data-unreadable` for a data folder that does not exist, instead of making it. */
export async function withStore<T>(options: StorageOptions, use: (store: Store) => Promise<T>): Promise<T> {
  requireFolder(options);
  return await withNewStore(options, use);
}

/** For commands that may be the first ones: makes the data folder where there is none. */
export async function withNewStore<T>(
  options: StorageOptions,
  use: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await openStore(options);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Throws `data-unreadable` for a data folder that does not exist. */
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

/** Whether there is anything to read from: the data folder exists, or a database is named. */
export function hasStorage({ data, database: url }: StorageOptions): boolean {
  return Boolean(url) || existsSync(data);
}

function requireFolder(options: StorageOptions): void {
  if (hasStorage(options)) return;
  throw new AppError(
    'data-unreadable',
    `There is no data folder ${options.data}. Name the one that has the data with --data or CORKBOARD_DATA. ` +
      '"corkboard import" and "corkboard organizations create" make a new one.',
  );
}

/** A database in whatever state. */
export async function withDatabase<T>(url: string, use: (database: Database) => Promise<T>): Promise<T> {
  const database = await connect(url);
  try {
    return await meet(use(database));
  } finally {
    await database.close();
  }
}

/** A store of whatever sort, for moving organizations with their keys. */
export interface Place {
  readonly copying: Copying;
  readonly keys: KeyRows;
}

/**
 * Opens the store at a place: the address of a database, or a folder. `mustExist`: throws `data-unreadable` instead of
 * making a folder that is not there.
 */
export async function withPlace<T>(
  { database: url, data }: StorageOptions,
  mustExist: boolean,
  use: (place: Place) => Promise<T>,
): Promise<T> {
  const place = url ? await openDatabasePlace(url) : await openFolderPlace(data, mustExist);
  try {
    return await use(place);
  } finally {
    await place.keys.close();
    await place.copying.close();
  }
}

async function openFolderPlace(folder: string, mustExist: boolean): Promise<Place> {
  const { openDuckdbCopying } = await import('../dataset/duckdb/copying.ts');
  const { openSqliteKeyRows } = await import('../keys/sqlite-keyring.ts');
  const copying = openDuckdbCopying(folder, mustExist);
  return { copying, keys: openSqliteKeyRows(folder) };
}

async function openDatabasePlace(url: string): Promise<Place> {
  const { openPostgresCopying } = await import('../dataset/postgres/copying.ts');
  const { openPostgresKeyRows } = await import('../keys/postgres-keyring.ts');
  const database = await openMigrated(url);
  return { copying: openPostgresCopying(url), keys: openPostgresKeyRows(database) };
}
