/** The rows of a version, straight from its file. */
import { COPIED_TABLES, type CopiedRows, type CopiedTable, selection } from '../copied-tables.ts';
import type { Counts } from '../dataset.ts';
import type { OrganizationEntry } from '../store.ts';
import { LATER_USER_CLOCKS } from '../user-clocks.ts';
import type { VersionRows } from '../version-rows.ts';
import { rowsOfChunk } from './copied-chunks.ts';
import { Database } from './database.ts';
import type { VersionFile } from './generation.ts';
import { hasClocks, readFormat } from './schema.ts';

const MEMORY_LIMIT_MB = 768;

/** Without a file there is nothing but the entry. The rows release the file when they are closed. */
export async function openVersionRows(
  entry: OrganizationEntry,
  file: VersionFile | undefined,
): Promise<VersionRows> {
  if (file === undefined) return new DuckdbRows(entry);
  const { path, spillFolder, release } = file;
  let database: Database | undefined;
  try {
    database = await Database.open(path, { readOnly: true, memoryLimitMb: MEMORY_LIMIT_MB, spillFolder });
    const asked = database;
    const format = await readFormat(async (sql) => await asked.rows(sql));
    const counts = await readCounts(database);
    return new DuckdbRows(entry, { database, counts, hasAllClocks: hasClocks(format), release });
  } catch (error) {
    database?.close();
    release();
    throw error;
  }
}

interface Opened {
  readonly database: Database;
  readonly counts: Counts;
  readonly hasAllClocks: boolean;
  release(): void;
}

class DuckdbRows implements VersionRows {
  readonly entry: OrganizationEntry;
  readonly #opened: Opened | undefined;

  constructor(entry: OrganizationEntry, opened?: Opened) {
    this.entry = entry;
    this.#opened = opened;
  }

  get counts(): Counts | undefined {
    return this.#opened?.counts;
  }

  async *rows(table: CopiedTable): AsyncGenerator<CopiedRows> {
    if (this.#opened === undefined) throw new Error('nothing is published');
    const { database, hasAllClocks } = this.#opened;
    const { list } = selection(table);
    const sql = `SELECT ${list} FROM ${sourceOf(table, hasAllClocks)} ORDER BY ${COPIED_TABLES[table].order}`;
    for await (const chunk of database.stream(sql)) yield rowsOfChunk(table, chunk);
  }

  async close(): Promise<void> {
    this.#opened?.database.close();
    this.#opened?.release();
  }
}

/** The table with columns that earlier formats lack. */
function sourceOf(table: CopiedTable, hasAllClocks: boolean): string {
  // Adjustments lie in the order of import.
  if (table === 'adjustments') return '(SELECT *, rowid + 1 AS place FROM adjustments)';
  if (table !== 'users' || hasAllClocks) return table;
  return `(SELECT *, ${LATER_USER_CLOCKS.map((clock) => `revised AS ${clock}`).join(', ')} FROM users)`;
}

async function readCounts(database: Database): Promise<Counts> {
  const [row = []] = await database.rows(
    `SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM users), (SELECT count(*) FROM boards),
       (SELECT count(*) FROM pins)`,
  );
  const [events, users, boards, pins] = row.map(Number) as [number, number, number, number];
  return { events, users, boards, pins };
}
