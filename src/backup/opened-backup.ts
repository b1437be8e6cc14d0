/** Reads a backup as a store, without changing any of its files. */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KeyRows } from '../keys/key-row.ts';
import { openSqliteKeyRows } from '../keys/sqlite-keyring.ts';
import { openSqliteCatalog } from '../store/catalog/sqlite-catalog.ts';
import { LocalFiles } from '../store/files/local-files.ts';
import { VersionStore } from '../store/files/version-store.ts';
import { openTemporaryFolder } from '../system/temporary-folder.ts';
import type { KeyedStore } from './copied-keys.ts';

/**
 * Opens copies of the SQLite files, which may be brought up to date, and the version files in their
 * place, which are only read.
 */
export async function withBackup<T>(folder: string, use: (backup: KeyedStore) => Promise<T>): Promise<T> {
  using copies = openTemporaryFolder();
  for (const name of ['catalog.db', 'keys.db']) copyFileSync(join(folder, name), join(copies.path, name));
  const catalog = openSqliteCatalog(copies.path);
  const store = new VersionStore(catalog, new LocalFiles(folder, catalog));
  let keys: KeyRows | undefined;
  try {
    keys = openSqliteKeyRows(copies.path);
    return await use({ store, keys });
  } finally {
    await keys?.close();
    await store.close();
  }
}
