/**
 * Chunks as rows of the table `chunks` in the database of the catalog; they need no second address.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../../domain/app-error.ts';
import { assertChunkNames, assertChunkPrefix } from './chunk-name.ts';
import type { ChunkPlace } from './chunk-place.ts';

/** The database that the place requires. Its failures are `database-away`. */
export interface ChunkDatabase {
  rows(
    sql: string,
    parameters?: readonly (string | Uint8Array | readonly string[])[],
  ): Promise<readonly (readonly unknown[])[]>;
}

/** As many as there are connections. */
const PARALLEL = 2;
const LISTED_AT_ONCE = 1_000;
/** A restarting database is available again after some seconds. */
const PAUSES_MS = [200, 1_000, 3_000];
/**
 * No retry after this time: a database that does not respond has already used the time that a
 * request may wait.
 */
const LONGEST_PAUSED_MS = 4_500;

/**
 * The commit waits for the disk: a database that restarts during an import must not lose chunks
 * that the import considers stored.
 */
const PUT = 'INSERT INTO chunks (name, bytes) VALUES ($1, $2) ON CONFLICT DO NOTHING';

/** The database stays open when the place is closed. */
export function openChunkTable(database: ChunkDatabase): ChunkPlace {
  return new ChunkTable(database);
}

class ChunkTable implements ChunkPlace {
  readonly parallel = PARALLEL;
  readonly #database: ChunkDatabase;

  constructor(database: ChunkDatabase) {
    this.#database = database;
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    assertChunkNames([name]);
    await patiently(() => this.#database.rows(PUT, [name, bytes]));
  }

  async get(name: string): Promise<Uint8Array | undefined> {
    assertChunkNames([name]);
    // The driver receives results as text, and hexadecimal digits take more characters than base64.
    const sql = "SELECT encode(bytes, 'base64') FROM chunks WHERE name = $1";
    const [row] = await patiently(() => this.#database.rows(sql, [name]));
    return row === undefined ? undefined : Buffer.from(String(row[0]), 'base64');
  }

  async *list(prefix: string): AsyncGenerator<readonly string[]> {
    assertChunkPrefix(prefix);
    // Names contain no wildcards of LIKE.
    const sql = `SELECT name FROM chunks WHERE name LIKE $1 AND name > $2 ORDER BY name LIMIT ${LISTED_AT_ONCE}`;
    for (let last = ''; ; ) {
      const rows = await patiently(() => this.#database.rows(sql, [`${prefix}%`, last]));
      if (rows.length === 0) return;
      const names = rows.map(([name]) => String(name));
      yield names;
      last = names.at(-1)!;
    }
  }

  async delete(names: readonly string[]): Promise<void> {
    assertChunkNames(names);
    await patiently(() => this.#database.rows('DELETE FROM chunks WHERE name = ANY($1)', [names]));
  }

  async close(): Promise<void> {}
}

async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  const startMs = performance.now();
  for (const pauseMs of PAUSES_MS) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'database-away')) throw error;
      if (performance.now() - startMs + pauseMs > LONGEST_PAUSED_MS) throw error;
      await delay(pauseMs);
    }
  }
  return await ask();
}
