/**
 * Where the data and the keys of a test lie: each of the stores, read directly and from memory. Suites that speak of
 * what is served run over all of them.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { describe, type TestOptions } from 'node:test';
import { withResidentDatasets } from '../src/dataset/resident/store.ts';
import type { Store } from '../src/dataset/store.ts';
import type { Keyring } from '../src/keys/keyring.ts';
import { openPostgresKeyring } from '../src/keys/postgres-keyring.ts';
import { openSqliteKeyring } from '../src/keys/sqlite-keyring.ts';
import { migrate } from '../src/store/catalog/migrate.ts';
import { PostgresCatalog } from '../src/store/catalog/postgres-catalog.ts';
import { PostgresDatabase } from '../src/store/catalog/postgres-database.ts';
import { openFolderStore } from '../src/store/open-folder.ts';
import { openSharedStore } from '../src/store/open-shared.ts';
import { sharedPostgres } from './postgres/throwaway.ts';
import { sharedBucket } from './s3/server.ts';

export const STORAGES = [
  { store: 'DuckDB', resident: false },
  { store: 'DuckDB', resident: true },
  { store: 'PostgreSQL', resident: false },
  { store: 'PostgreSQL with a bucket', resident: true },
] as const;
export type StorageKind = (typeof STORAGES)[number];
export const [EMBEDDED] = STORAGES;
/** The store of a data folder, read directly and from memory. */
export const EMBEDDED_STORAGES = STORAGES.filter(({ store }) => store === 'DuckDB');
export const DIRECT = STORAGES.filter(({ resident }) => !resident);
/** For tests that take long: datasets in memory only when `CORKBOARD_RUNS` asks for more. */
export const STORES = process.env['CORKBOARD_RUNS'] === undefined ? DIRECT : STORAGES;

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

/** A suite for each storage, each test as often as there are storages. */
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

export function nameOf({ store, resident }: StorageKind): string {
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

/** Of the PostgreSQL that the tests of this process share. */
export async function newMigratedDatabase(): Promise<string> {
  const url = await (await sharedPostgres()).newDatabase();
  await migrateDatabase(url);
  return url;
}

export async function migrateDatabase(url: string): Promise<void> {
  const database = new PostgresDatabase(url);
  await migrate(database);
  await database.close();
}
