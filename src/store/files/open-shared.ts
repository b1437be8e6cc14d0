/**
 * Opens a store that machines share: its catalog in PostgreSQL, its chunks there or elsewhere, and
 * a local cache.
 */
import { join } from 'node:path';
import { buildMemory } from '../build-memory.ts';
import { PostgresCatalog } from '../catalog/postgres-catalog.ts';
import type { PostgresDatabase } from '../catalog/postgres-database.ts';
import { openPlace } from '../chunks/places.ts';
import { VersionCache } from './cache.ts';
import { SharedFiles } from './shared-files.ts';
import { VersionStore } from './version-store.ts';

export interface CacheOptions {
  /** Folder of the local cache; created if there is none. */
  readonly folder: string;
  readonly limitBytes: number;
}

export interface SharedOptions {
  /** Duration of a lease that is not renewed. */
  readonly leaseMs?: number | undefined;
  /** Longest wait of a caller for a version that is not in the cache. */
  readonly patienceMs?: number | undefined;
  /** Memory for building a version. */
  readonly buildBytes?: number | undefined;
}

/** Takes ownership of a database that has been migrated. Throws `database-away`. */
export async function openSharedStore(
  database: PostgresDatabase,
  cache: CacheOptions,
  { leaseMs, patienceMs, buildBytes }: SharedOptions = {},
): Promise<VersionStore> {
  const catalog = new PostgresCatalog(database, leaseMs);
  try {
    const versions = new VersionCache(join(cache.folder, await catalog.id()), cache.limitBytes);
    const files = new SharedFiles(catalog, versions, (address) => openPlace(address, database), patienceMs);
    // While this machine had no process, users may have been erased and organizations removed. What
    // cannot be deleted now is deleted the next time.
    await files.tidyCache().catch(() => undefined);
    return new VersionStore(catalog, files, buildMemory(buildBytes));
  } catch (error) {
    await catalog.close();
    throw error;
  }
}
