/** Reads the rows of a version from its file. */

import type { Counts } from '../../../dataset/dataset.ts';
import type { OrganizationEntry } from '../../store.ts';
import type { VersionRows } from '../../version-rows.ts';
import { type CopiedRows, type CopiedTable, selection, VERSION_TABLES } from '../../version-tables.ts';
import type { Database } from '../database.ts';
import { bytesOfRow } from '../long-texts.ts';
import { portionsOf } from '../portions.ts';
import { rowsOfChunk } from '../publish/copied-chunks.ts';
import { tableOf } from '../publish/schema.ts';
import { openVersion, type VersionFile } from './opened-version.ts';

const MEMORY_BYTES = 768e6;

/** The first column of the order of the tables that can hold long texts. */
const KEYS: Readonly<Partial<Record<CopiedTable, string>>> = {
  ...{ users: 'ix', user_properties: 'person', boards: 'ix', pins: 'ix' },
  ...{ events: 'timestamp_ms', adjustments: 'place' },
};

/** Without a file, only the entry is available. Closing the rows releases the file. */
export async function openVersionRows(
  entry: OrganizationEntry,
  file: VersionFile | undefined,
): Promise<VersionRows> {
  if (file === undefined) return new DuckdbRows(entry);
  const { release } = file;
  let database: Database | undefined;
  try {
    const opened = await openVersion(file, MEMORY_BYTES);
    const { format } = opened;
    database = opened.database;
    const counts = await readCounts(database);
    const hasBodies = await readHasBodies(database, format);
    return new DuckdbRows(entry, { database, counts, hasBodies, format, release });
  } catch (error) {
    database?.close();
    release();
    throw error;
  }
}

interface Opened {
  readonly database: Database;
  readonly counts: Counts;
  readonly hasBodies: boolean;
  readonly format: number;
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

  get hasBodies(): boolean {
    return this.#opened?.hasBodies ?? false;
  }

  async *rows(table: CopiedTable): AsyncGenerator<CopiedRows> {
    if (this.#opened === undefined) throw new Error('nothing is published');
    const { database, format } = this.#opened;
    const { list } = selection(table);
    const { order } = VERSION_TABLES[table];
    const source = sourceOf(table, format);
    const key = KEYS[table];
    const portions =
      key === undefined
        ? ['true']
        : await portionsOf((sql) => database.rows(sql), { source, key, size: bytesOfRow(table) });
    for (const portion of portions) {
      const sql = `SELECT ${list} FROM ${source} WHERE ${portion} ORDER BY ${order}`;
      for await (const chunk of database.stream(sql)) yield rowsOfChunk(table, chunk);
    }
  }

  async close(): Promise<void> {
    try {
      this.#opened?.database.close();
    } finally {
      this.#opened?.release();
    }
  }
}

/** The table with the columns that earlier formats lack. */
function sourceOf(table: CopiedTable, format: number): string {
  // Adjustments are stored in the order of import.
  if (table === 'adjustments') return '(SELECT *, rowid + 1 AS place FROM adjustments)';
  return tableOf(table, format);
}

async function readHasBodies(database: Database, format: number): Promise<boolean> {
  const found = await database.rows(
    `SELECT 1 FROM ${tableOf('events', format)} WHERE body IS NOT NULL LIMIT 1`,
  );
  return found.length > 0;
}

async function readCounts(database: Database): Promise<Counts> {
  const [row = []] = await database.rows(
    `SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM users), (SELECT count(*) FROM boards),
       (SELECT count(*) FROM pins)`,
  );
  const [events, users, boards, pins] = row.map(Number) as [number, number, number, number];
  return { events, users, boards, pins };
}
