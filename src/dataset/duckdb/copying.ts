/** Organizations of a data folder as originals and as copies of such in other stores (decision 46). */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { AppError } from '../../app-error.ts';
import { organizationFolder } from '../../organization-folders.ts';
import {
  COPIED_NAMES,
  COPIED_TABLES,
  type CopiedRows,
  type CopiedTable,
  selection,
} from '../copied-tables.ts';
import type { Copying, CopyOptions, Original, VersionFacts } from '../copying.ts';
import { checkReplaceable } from '../organization-name.ts';
import { LATER_USER_CLOCKS } from '../user-clocks.ts';
import { Catalog, type CatalogEntry } from './catalog.ts';
import { appendRows, rowsOfChunk } from './copied-chunks.ts';
import { Database } from './database.ts';
import { Generations } from './generations.ts';
import { appendInOrder } from './layout.ts';
import { acquirePublicationLock } from './publication-lock.ts';
import { GENERATION_SCHEMA, hasClocks, readFormat } from './schema.ts';
import { writeVersion } from './version-row.ts';

const MEMORY_LIMIT_MB = 768;

/** `mustExist`: throws `data-unreadable` instead of making a folder that is not there. */
export function openDuckdbCopying(dataFolder: string, mustExist: boolean): Copying {
  if (mustExist && !existsSync(join(dataFolder, 'catalog.db'))) {
    throw new AppError(
      'data-unreadable',
      'The folder holds no data of Corkboard. Name the one that does: --data, or --from of copy.',
    );
  }
  return new DuckdbCopying(dataFolder, new Catalog(dataFolder));
}

class DuckdbCopying implements Copying {
  readonly #dataFolder: string;
  readonly #catalog: Catalog;

  constructor(dataFolder: string, catalog: Catalog) {
    this.#dataFolder = dataFolder;
    this.#catalog = catalog;
  }

  async names(): Promise<readonly string[]> {
    return this.#catalog.all().map(({ name }) => name);
  }

  async open(name: string): Promise<Original> {
    for (;;) {
      const entry = this.#catalog.entry(name);
      try {
        return await this.#open(entry);
      } catch (error) {
        // Three publications may have passed since the catalog was asked; only an unchanged one is an error.
        if (this.#catalog.currentVersion(name) === entry.version) throw error;
      }
    }
  }

  async checkFree(name: string): Promise<void> {
    checkReplaceable(this.#catalog.find(name), name);
  }

  async write(original: Original, options: CopyOptions): Promise<void> {
    const { entry, facts } = original;
    if (this.#catalog.find(entry.name) === undefined) this.#catalog.create(entry.name, entry.settings);
    const folder = organizationFolder(this.#dataFolder, entry.name);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const release = await acquirePublicationLock(join(folder, 'publication.lock'), options);
    try {
      await this.checkFree(entry.name);
      const generations = new Generations(folder);
      if (facts !== undefined) await makeGeneration(generations, original, facts, options);
      this.#catalog.adopt(entry, facts?.publication);
    } finally {
      release();
    }
  }

  async close(): Promise<void> {
    this.#catalog.close();
  }

  async #open(entry: CatalogEntry): Promise<Original> {
    if (entry.generation === undefined) return new DuckdbOriginal(entry, undefined, undefined, true);
    const generations = new Generations(organizationFolder(this.#dataFolder, entry.name));
    const database = await Database.open(generations.file(entry.generation), {
      readOnly: true,
      memoryLimitMb: MEMORY_LIMIT_MB,
      spillFolder: generations.spillFolder('reading'),
    });
    try {
      const format = await readFormat(async (sql) => await database.rows(sql));
      return new DuckdbOriginal(entry, database, await readFacts(database), hasClocks(format));
    } catch (error) {
      database.close();
      throw error;
    }
  }
}

class DuckdbOriginal implements Original {
  readonly entry: CatalogEntry;
  readonly facts: VersionFacts | undefined;
  readonly #database: Database | undefined;
  readonly #hasClocks: boolean;

  constructor(
    entry: CatalogEntry,
    database: Database | undefined,
    facts: VersionFacts | undefined,
    hasAllClocks: boolean,
  ) {
    this.entry = entry;
    this.#database = database;
    this.facts = facts;
    this.#hasClocks = hasAllClocks;
  }

  async *rows(table: CopiedTable): AsyncGenerator<CopiedRows> {
    const { list } = selection(table);
    const sql = `SELECT ${list} FROM ${this.#source(table)} ORDER BY ${COPIED_TABLES[table].order}`;
    for await (const chunk of this.#published().stream(sql)) yield rowsOfChunk(table, chunk);
  }

  async eventYears(first: number, last: number): Promise<ReadonlySet<number>> {
    const rows = await this.#published().rows(
      `SELECT DISTINCT year(make_timestamp(timestamp_ms * 1000)) FROM events
       WHERE timestamp_ms >= ${Date.UTC(first, 0)} AND timestamp_ms < ${Date.UTC(last + 1, 0)}`,
    );
    return new Set(rows.map(([year]) => Number(year)));
  }

  async close(): Promise<void> {
    this.#database?.close();
  }

  /** The table with the columns that other stores have, too. */
  #source(table: CopiedTable): string {
    // Adjustments lie in the order of import, by which they are numbered from 1 elsewhere.
    if (table === 'adjustments') return '(SELECT *, rowid + 1 AS place FROM adjustments)';
    if (table !== 'users' || this.#hasClocks) return table;
    return `(SELECT *, ${LATER_USER_CLOCKS.map((clock) => `revised AS ${clock}`).join(', ')} FROM users)`;
  }

  #published(): Database {
    if (this.#database === undefined) throw new Error('nothing is published');
    return this.#database;
  }
}

async function readFacts(database: Database): Promise<VersionFacts> {
  const [row] = await database.rows(
    `SELECT version, publication, published_ms, last_sequence, (SELECT count(*) FROM events),
       (SELECT count(*) FROM users), (SELECT count(*) FROM boards), (SELECT count(*) FROM pins) FROM version`,
  );
  if (row === undefined) throw new Error('the generation names no version');
  const [publication, publishedMs, lastSequence, events, users, boards, pins] = row.slice(1).map(Number) as [
    ...[number, number, number, number, number, number, number],
  ];
  const counts = { events, users, boards, pins };
  return { version: String(row[0]), publication, publishedMs, lastSequence, counts };
}

/** Until it is in the catalog nobody sees it; the next publication removes what is left of one that failed. */
async function makeGeneration(
  generations: Generations,
  original: Original,
  facts: VersionFacts,
  { onRows }: CopyOptions,
): Promise<void> {
  await generations.prepare(undefined);
  try {
    const database = await Database.open(generations.building, {
      readOnly: false,
      memoryLimitMb: MEMORY_LIMIT_MB,
      spillFolder: generations.spillFolder('building'),
    });
    const connection = await database.connect();
    try {
      await connection.run(GENERATION_SCHEMA);
      for (const table of COPIED_NAMES) {
        await appendRows(connection, table, original.rows(table), (count) => onRows(table, count));
      }
      await copyEvents(connection);
      await writeVersion(connection, original.entry.settings, facts);
      await connection.run('CHECKPOINT');
    } finally {
      connection.closeSync();
      database.close();
    }
    // Files left in the folder by an earlier organization of this name are not versions of this
    // one.
    await generations.keepFrom(facts.publication);
    await generations.settle(facts.publication);
  } catch (error) {
    await generations.discard();
    throw error;
  }
}

async function copyEvents(connection: DuckDBConnection): Promise<void> {
  for (const copy of ['board_events', 'actor_events'] as const) {
    const columns = 'sequence, kind, actor, "owner", board, pin, timestamp_ms';
    await appendInOrder(connection, copy, `SELECT ${columns} FROM events`);
  }
}
