/** Opens the store of a data folder. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../domain/app-error.ts';
import { buildMemory } from '../build-memory.ts';
import { openSqliteCatalog } from '../catalog/sqlite-catalog.ts';
import { LocalFiles } from './local-files.ts';
import { VersionStore } from './version-store.ts';

/**
 * Opens the data folder, and creates it if there is none. `buildBytes`: memory for building a
 * version. Throws `data-unreadable`.
 */
export async function openFolderStore(dataFolder: string, buildBytes?: number): Promise<VersionStore> {
  const catalog = openSqliteCatalog(dataFolder);
  return new VersionStore(catalog, new LocalFiles(dataFolder, catalog), buildMemory(buildBytes));
}

/** Like `openFolderStore`, but throws `data-unreadable` if the folder does not exist. */
export async function openExistingFolderStore(dataFolder: string): Promise<VersionStore> {
  if (!existsSync(join(dataFolder, 'catalog.db'))) {
    throw new AppError(
      'data-unreadable',
      'The folder contains no Corkboard data. Check the folder in --data (copy: --from).',
    );
  }
  return await openFolderStore(dataFolder);
}
