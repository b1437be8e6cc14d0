/**
 * Who reads a large version: each reader has SQLite's shared lock on `<publication>.readers`, an
 * empty file beside the version, until it closes the version or its process ends.
 */
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** Far longer than `withoutReaders` takes. */
const PATIENCE_MS = 1000;

/**
 * Registers a reader and returns the function that ends it. Call it before the version is opened.
 * Versions without such a file are never written to.
 */
export function registerReader(path: string): () => void {
  if (!existsSync(path)) return () => undefined;
  const database = new DatabaseSync(path, { readOnly: true, timeout: PATIENCE_MS });
  try {
    database.exec('BEGIN');
    // The lock begins with the first read.
    database.prepare('SELECT count(*) FROM sqlite_master').get();
  } catch (error) {
    database.close();
    throw error;
  }
  return () => database.close();
}

/**
 * Runs `work` if there are no readers, and lets none begin meanwhile. Undefined if there are, or if
 * readers of the version are not registered.
 */
export async function withoutReaders<T>(path: string, work: () => Promise<T>): Promise<T | undefined> {
  if (!existsSync(path)) return undefined;
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch {
    database.close();
    return undefined;
  }
  try {
    return await work();
  } finally {
    database.close();
  }
}
