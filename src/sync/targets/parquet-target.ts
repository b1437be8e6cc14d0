/**
 * A copy in a folder of Parquet files, with one file for the events of each month (decision 96).
 * What a run receives is gathered in a DuckDB file, from which the files that change are written.
 */
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { AppError } from '../../domain/app-error.ts';
import { literal } from '../../domain/sql-literal.ts';
import type { CopyState, CopyTarget, CopyWriting } from '../copy-target.ts';
import { type CopyTable, EVENTS, LISTS, TABLES } from '../tables.ts';
import { CopyFolder, type FolderChange } from './copy-folder.ts';
import {
  createTable,
  DUCKDB_OPTIONS,
  DUCKDB_TYPES,
  dropRepeated,
  duckdbWriting,
  keyColumn,
  keysOf,
  parameterValues,
} from './duckdb-rows.ts';
import type { FolderState } from './folder-state.ts';
import { keyNames, namesOf, quoted, refusedBy, typeOf } from './sql.ts';

/** The columns by which a change set deletes or replaces events. */
const REMOVED_BY = ['actor_id', ...EVENTS.key] as const;
/** The month of an event, in UTC, which is the time zone of the connection. */
const MONTH_OF_EVENT = `left(CAST(CAST("timestamp" AS DATE) AS VARCHAR), 7)`;

/** Creates the folder if it does not exist. Throws `option-malformed` and `copy-refused`. */
export async function openParquetTarget(path: string): Promise<CopyTarget> {
  if (/^[a-z0-9]+:\/\//.test(path)) {
    throw new AppError(
      'option-malformed',
      'A copy in Parquet files is in a folder (--to parquet:FOLDER). Upload its files to a bucket afterwards.',
    );
  }
  const absolute = resolve(path);
  if (/[*?[\]]/.test(absolute)) {
    throw new AppError(
      'option-malformed',
      'The path of the folder (--to) must not contain *, ?, [ or ], which are patterns in DuckDB.',
    );
  }
  const folder = await CopyFolder.open(absolute);
  return {
    async transact(change) {
      const release = folder.lock();
      try {
        await transact(folder, change);
      } finally {
        release();
      }
    },
    close: async () => undefined,
  };
}

async function transact(folder: CopyFolder, change: Parameters<CopyTarget['transact']>[0]): Promise<void> {
  const before = await folder.begin().catch((error: unknown) => {
    throw refusedBy('Cannot use the folder', error);
  });
  try {
    const received = await Received.open(folder);
    try {
      const state = await change(received.writing, before);
      await received.finish();
      await publish(folder, received, before, state);
    } finally {
      received.close();
    }
  } finally {
    await folder.end();
  }
}

async function publish(
  folder: CopyFolder,
  received: Received,
  before: FolderState | undefined,
  state: CopyState,
): Promise<void> {
  try {
    const change = await received.write(before, state);
    if (change !== undefined) await folder.change(change);
  } catch (error) {
    throw refusedBy('Cannot write the files of the copy', error);
  }
}

/** What a run has received so far. */
class Received {
  readonly #folder: CopyFolder;
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;
  /** The tables that are filled again. */
  readonly #cleared = new Set<CopyTable>();

  private constructor(folder: CopyFolder, instance: DuckDBInstance, connection: DuckDBConnection) {
    this.#folder = folder;
    this.#instance = instance;
    this.#connection = connection;
  }

  static async open(folder: CopyFolder): Promise<Received> {
    const instance = await DuckDBInstance.create(join(folder.unfinished, 'received.duckdb'), DUCKDB_OPTIONS);
    const received = new Received(folder, instance, await instance.connect());
    await received.#run(`SET TimeZone = 'UTC'; ${TABLES.map(createTable).join(' ')} ${REMOVED_SQL}`);
    return received;
  }

  get writing(): CopyWriting {
    const writing = duckdbWriting(this.#connection, this.#cleared);
    return {
      ...writing,
      put: async (table, rows) => {
        await writing.put(table, rows);
        if (this.#cleared.has(table)) return;
        // Even if the row is removed later, the one in the files has been replaced.
        await this.#removeFromFiles(table, keyColumn(table), keysOf(table, rows));
      },
      remove: async (table, column, values) => {
        await writing.remove(table, column, values);
        await this.#removeFromFiles(table, column, values);
      },
    };
  }

  /** The files of a table that is filled again are replaced in any case. */
  async #removeFromFiles(table: CopyTable, column: string, values: readonly string[]): Promise<void> {
    if (values.length === 0 || this.#cleared.has(table)) return;
    const sql = `INSERT INTO ${removedBy(column)} ${parameterValues(table, column)}`;
    await this.#connection.run(sql, [JSON.stringify(values)]);
  }

  async finish(): Promise<void> {
    for (const table of this.#cleared) await this.#run(dropRepeated(table));
  }

  /** Writes the files that change. Undefined if none does, and the state is the same. */
  async write(before: FolderState | undefined, state: CopyState): Promise<FolderChange | undefined> {
    const written: string[] = [];
    for (const table of LISTS) {
      if (before?.lists.includes(table.name) && !this.#cleared.has(table)) continue;
      const rows = `SELECT ${namesOf(table)} FROM ${table.name}`;
      await this.#writeFile(table.name, `${rows} ORDER BY ${keyNames(table)}`);
      written.push(table.name);
    }
    const former = before?.months ?? [];
    const kept = this.#cleared.has(EVENTS) ? [] : former;
    const months = new Set(kept);
    for (const month of await this.#changedMonths(kept)) {
      const events = await this.#writeFile(month, this.#eventsOf(month, kept));
      months.delete(month);
      if (events === 0) continue;
      months.add(month);
      written.push(month);
    }
    const after = { ...state, lists: LISTS.map(({ name }) => name), months: [...months].sort() };
    const removed = former.filter((month) => !months.has(month));
    if (written.length + removed.length === 0 && isDeepStrictEqual(before, after)) return undefined;
    return { written, removed, state: after };
  }

  close(): void {
    this.#connection.closeSync();
    this.#instance.closeSync();
  }

  /** The months of events that were received, and of those that these replace or delete. */
  async #changedMonths(kept: readonly string[]): Promise<readonly string[]> {
    const received = await this.#texts(`SELECT DISTINCT ${MONTH_OF_EVENT} FROM events ORDER BY ALL`);
    if (kept.length === 0 || !(await this.#hasRemoved())) return received;
    const files = kept.map((month) => this.#literalOf(month)).join(', ');
    const touched = await this.#texts(
      `SELECT DISTINCT ${MONTH_OF_EVENT} FROM read_parquet([${files}], hive_partitioning = false)
       WHERE ${TOUCHED} ORDER BY ALL`,
    );
    return [...new Set([...received, ...touched])].sort();
  }

  async #hasRemoved(): Promise<boolean> {
    const counts = REMOVED_BY.map((column) => `(SELECT count(*) FROM ${removedBy(column)})`);
    return (await this.#texts(`SELECT ${counts.join(' + ')}`))[0] !== '0';
  }

  #eventsOf(month: string, kept: readonly string[]): string {
    const names = namesOf(EVENTS);
    const received = `SELECT ${names} FROM events WHERE "timestamp" >= TIMESTAMPTZ '${month}-01 00:00:00+00'
      AND "timestamp" < TIMESTAMPTZ '${month}-01 00:00:00+00' + INTERVAL 1 MONTH`;
    const untouched = `SELECT ${names} FROM read_parquet(${this.#literalOf(month)}, hive_partitioning = false)
      WHERE NOT (${TOUCHED})`;
    const parts = kept.includes(month) ? [untouched, received] : [received];
    return `SELECT * FROM (${parts.join(' UNION ALL ')}) ORDER BY "timestamp", ${keyNames(EVENTS)}`;
  }

  #literalOf(month: string): string {
    return literal(this.#folder.file(month));
  }

  /** Returns the number of rows; without any there is no file. */
  async #writeFile(name: string, rows: string): Promise<number> {
    const path = this.#folder.nextFile(name);
    const copied = await this.#connection.run(
      `COPY (${rows}) TO ${literal(path)} (FORMAT parquet, COMPRESSION zstd)`,
    );
    return copied.rowsChanged;
  }

  async #texts(sql: string): Promise<readonly string[]> {
    return (await this.#connection.runAndReadAll(sql)).getRows().map(([value]) => String(value));
  }

  async #run(sql: string): Promise<void> {
    await this.#connection.run(sql);
  }
}

const removedBy = (column: string) => `removed_by_${column}`;
const REMOVED_SQL = REMOVED_BY.map(
  (column) => `CREATE TABLE ${removedBy(column)} (value ${DUCKDB_TYPES[typeOf(EVENTS, column)]});`,
).join(' ');
/** Whether a change concerns an event of the copy. One without an actor has no user to erase. */
const TOUCHED = REMOVED_BY.map(
  (column) => `coalesce(${quoted(column)} IN (SELECT value FROM ${removedBy(column)}), false)`,
).join(' OR ');
