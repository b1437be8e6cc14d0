/** The store that machines share: its catalog in PostgreSQL, its chunks there or elsewhere, and a local cache. */
import { join } from 'node:path';
import { PostgresCatalog } from '../catalog/postgres-catalog.ts';
import type { PostgresDatabase } from '../catalog/postgres-database.ts';
import { openPlace } from '../chunks/places.ts';
import { VersionCache } from './cache.ts';
import { SharedFiles } from './shared-files.ts';
import { VersionStore } from './version-store.ts';

export interface CacheOptions {
  /** Folder of the local cache; made when there is none. */
  readonly folder: string;
  readonly limitBytes: number;
}

export interface SharedOptions {
  /** How long a turn to publish lasts without a sign of its holder. */
  readonly leaseMs?: number | undefined;
  /** How long a caller waits for a version that is not in the cache. */
  readonly patienceMs?: number | undefined;
}

/** Takes over a database whose tables are those of this version. Throws `database-away`. */
export async function openSharedStore(
  database: PostgresDatabase,
  cache: CacheOptions,
  { leaseMs, patienceMs }: SharedOptions = {},
): Promise<VersionStore> {
  const catalog = new PostgresCatalog(database, leaseMs);
  try {
    const versions = new VersionCache(join(cache.folder, await catalog.id()), cache.limitBytes);
    return new VersionStore(
      catalog,
      new SharedFiles(catalog, versions, (address) => openPlace(address, database), patienceMs),
    );
  } catch (error) {
    await catalog.close();
    throw error;
  }
}
