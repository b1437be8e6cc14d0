/**
 * Where the data and the keys of a test lie, and how they are read. A test that names no storage uses
 * the product's default. Only suites for which the storage makes a difference run over several.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { describe, type TestOptions } from 'node:test';
import type { Keyring } from '../src/keys/keyring.ts';
import { openPostgresKeyring } from '../src/keys/postgres-keyring.ts';
import { openSqliteKeyring } from '../src/keys/sqlite-keyring.ts';
import { migrate } from '../src/store/catalog/migrate.ts';
import { PostgresCatalog } from '../src/store/catalog/postgres-catalog.ts';
import { PostgresDatabase } from '../src/store/catalog/postgres-database.ts';
import { openFolderStore } from '../src/store/files/open-folder.ts';
import { openSharedStore } from '../src/store/files/open-shared.ts';
import { withResidentDatasets } from '../src/store/resident-store.ts';
import type { Store } from '../src/store/store.ts';
import { newDatabase, sharedBucket } from './shared-servers.ts';

export const STORAGES = [
  { store: 'DuckDB', resident: false },
  { store: 'DuckDB', resident: true },
  { store: 'PostgreSQL', resident: false },
  { store: 'PostgreSQL with a bucket', resident: true },
] as const;
export type StorageKind = (typeof STORAGES)[number];
/** A data folder, read directly, as a version is that does not fit into memory. */
export const EMBEDDED = STORAGES[0];
/** The default of the product, and of tests: a data folder, read from memory. */
export const DEFAULT_STORAGE = STORAGES[1];
/** The two ways to read: directly and from memory. Every store has the same version files. */
export const READINGS: readonly StorageKind[] = [EMBEDDED, DEFAULT_STORAGE];
/** The two catalogs and keyrings, SQLite and PostgreSQL; the last one with chunks in a bucket. */
export const CATALOGS: readonly StorageKind[] = [DEFAULT_STORAGE, STORAGES[3]];
/** The two catalogs without a bucket, for what is not read, or reads both ways by itself. */
export const DIRECT = STORAGES.filter(({ resident }) => !resident);

/** More than any test needs. */
const RESIDENT_LIMIT_BYTES = 1e9;

export interface Storage {
  readonly store: Store;
  /** What a server reads: the store, or the store with datasets in memory. */
  readonly served: Store;
  readonly keyring: Keyring;
  /** Names the storage on the command line. */
  readonly words: readonly string[];
  close(): Promise<void>;
}

/** For what must be the same wherever the data lie: each test runs as often as there are storages. */
export function describeOverStorages(name: string, suite: (kind: StorageKind) => void): void {
  describeOver(STORAGES, name, {}, suite);
}

export function describeOver(
  storages: readonly StorageKind[],
  name: string,
  options: TestOptions,
  suite: (kind: StorageKind) => void,
): void {
  for (const kind of storages) describe(`${name}, ${nameOf(kind)}`, options, () => suite(kind));
}

function nameOf({ store, resident }: StorageKind): string {
  return resident ? `from memory over ${store}` : `straight from ${store}`;
}

/** Empty. A store of files lies in the folder, which the caller removes. */
export async function openStorage(kind: StorageKind, folder: string, now?: () => number): Promise<Storage> {
  const { store, keyring, words } = await opened(kind.store, folder, now);
  return {
    ...{ store, keyring, words },
    served: kind.resident ? withResidentDatasets(store, { limitBytes: RESIDENT_LIMIT_BYTES }) : store,
    async close() {
      await keyring.close();
      await store.close();
    },
  };
}

async function opened(store: StorageKind['store'], folder: string, now?: () => number) {
  if (store === 'DuckDB') {
    const data = join(folder, 'data');
    // The store makes the folder in which the keys lie, too.
    const files = await openFolderStore(data);
    return { store: files, keyring: openSqliteKeyring(data, now), words: ['--data', data] };
  }
  const url = await newMigratedDatabase();
  if (store === 'PostgreSQL with a bucket') await putChunksInBucket(url);
  const cache = join(folder, 'cache');
  return {
    store: await openCachedStore(url, cache),
    keyring: openPostgresKeyring(new PostgresDatabase(url), now),
    words: ['--database', url, '--cache', cache],
  };
}

/** New organizations have their chunks in a bucket, in a folder of its own. */
async function putChunksInBucket(url: string): Promise<void> {
  const { address, env } = await sharedBucket();
  // For this process and the commands that it starts.
  Object.assign(process.env, env);
  const catalog = new PostgresCatalog(new PostgresDatabase(url));
  await catalog.setPlace(address.replace('?', `/${randomUUID()}?`));
  await catalog.close();
}

/** The store of a migrated database, with a local cache that holds whatever tests make. */
export async function openCachedStore(url: string, cache: string, leaseMs?: number) {
  return await openSharedStore(new PostgresDatabase(url), { folder: cache, limitBytes: 1e9 }, { leaseMs });
}

/** Of the PostgreSQL that all tests share. */
export async function newMigratedDatabase(): Promise<string> {
  return await newDatabase('migrated');
}

export async function migrateDatabase(url: string): Promise<void> {
  const database = new PostgresDatabase(url);
  await migrate(database);
  await database.close();
}
