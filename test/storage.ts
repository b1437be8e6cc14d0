/**
 * Where the data and the keys of a test are stored, and how they are read. A test that names no
 * storage uses the default of the product. Only suites that depend on the storage run over several.
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
import type { VersionStore } from '../src/store/files/version-store.ts';
import { withResidentDatasets } from '../src/store/resident-store.ts';
import type { Store } from '../src/store/store.ts';
import { IS_LONG } from './long.ts';
import { newDatabase, sharedBucket } from './shared-servers.ts';

export const STORAGES = [
  { store: 'DuckDB', resident: false },
  { store: 'DuckDB', resident: true },
  { store: 'PostgreSQL', resident: false },
  { store: 'PostgreSQL with a bucket', resident: true },
] as const;
export type StorageKind = (typeof STORAGES)[number];
/** A data folder, read directly, like a version that does not fit into memory. */
export const EMBEDDED = STORAGES[0];
/** The default of the product, and of tests: a data folder, read from memory. */
export const DEFAULT_STORAGE = STORAGES[1];
/**
 * The two ways to read: directly and from memory. All stores have the same version files. Outside
 * of long runs only the default: that both give the same bytes is shown by
 * `test/contract/same-bytes.test.ts` and `test/properties/`.
 */
export const READINGS: readonly StorageKind[] = IS_LONG ? [EMBEDDED, DEFAULT_STORAGE] : [DEFAULT_STORAGE];
/** The two catalogs and keyrings, SQLite and PostgreSQL; the latter with chunks in a bucket. */
export const CATALOGS: readonly StorageKind[] = [DEFAULT_STORAGE, STORAGES[3]];
/**
 * The two catalogs without a bucket, for suites that read nothing, or that read both ways
 * themselves.
 */
export const DIRECT = STORAGES.filter(({ resident }) => !resident);

/** On a busy machine a connection can take longer than the product waits. */
const PATIENCE = { connectMs: 60_000, answerMs: 60_000 };

/** Larger than all data of the tests. */
const RESIDENT_LIMIT_BYTES = 1e9;
const CACHE_BYTES = 1e9;

export interface Storage {
  readonly store: VersionStore;
  /** The store that a server reads: `store`, or `store` with datasets in memory. */
  readonly served: Store;
  readonly keyring: Keyring;
  /** The same keys, as a different process opens them. */
  openKeyring(): Keyring;
  /** Command-line options that select the storage. */
  readonly words: readonly string[];
  close(): Promise<void>;
}

/**
 * For behaviour that must not depend on the storage: each test runs over the default one, in long
 * runs over every one.
 */
export function describeOverStorages(name: string, suite: (kind: StorageKind) => void): void {
  describeOver(IS_LONG ? STORAGES : [DEFAULT_STORAGE], name, {}, suite);
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

/** Opens an empty storage. A store of files is in the folder, which the caller must remove. */
export async function openStorage(kind: StorageKind, folder: string, now?: () => number): Promise<Storage> {
  const { store, openKeyring, words } = await opened(kind.store, folder, now);
  const keyring = openKeyring();
  return {
    ...{ store, keyring, openKeyring, words },
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
    // The store also creates the folder that contains the keys.
    const files = await openFolderStore(data);
    return { store: files, openKeyring: () => openSqliteKeyring(data, now), words: ['--data', data] };
  }
  const url = await newMigratedDatabase();
  if (store === 'PostgreSQL with a bucket') await putChunksInBucket(url);
  const cache = join(folder, 'cache');
  return {
    store: await openSharedStore(openPatiently(url), { folder: cache, limitBytes: CACHE_BYTES }),
    openKeyring: () => openPostgresKeyring(openPatiently(url), now),
    words: ['--database', url, '--cache', cache],
  };
}

/** New organizations have their chunks in a separate folder of the bucket. */
async function putChunksInBucket(url: string): Promise<void> {
  const { address, env } = await sharedBucket();
  // For this process and the commands that it starts.
  Object.assign(process.env, env);
  const catalog = new PostgresCatalog(openPatiently(url));
  await catalog.setPlace(address.replace('?', `/${randomUUID()}?`));
  await catalog.close();
}

/** For tests in which the database is not away. */
export function openPatiently(url: string): PostgresDatabase {
  return new PostgresDatabase(url, PATIENCE);
}

/** The store of a migrated database, with a local cache that is large enough for all tests. */
export async function openCachedStore(url: string, cache: string, leaseMs?: number) {
  return await openSharedStore(
    new PostgresDatabase(url),
    { folder: cache, limitBytes: CACHE_BYTES },
    { leaseMs },
  );
}

/** A new database of the PostgreSQL that all tests share. */
export async function newMigratedDatabase(): Promise<string> {
  return await newDatabase('migrated');
}

export async function migrateDatabase(url: string): Promise<void> {
  const database = new PostgresDatabase(url);
  await migrate(database);
  await database.close();
}
