/**
 * A copy in Parquet files, with one file for the events of each month (decision 96). What a run
 * receives is gathered in a DuckDB file, from which the files that change are written.
 */
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { literal } from '../../domain/sql-literal.ts';
import type { CopyState, CopyTarget, CopyWriting } from '../copy-target.ts';
import { type CopyTable, EVENTS, LISTS, TABLES } from '../tables.ts';
import type { CopyFiles, FilesChange } from './copy-files.ts';
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
import type { FilesState } from './files-state.ts';
import { keyNames, namesOf, quoted, refusedBy, typeOf } from './sql.ts';

/** The columns by which a change set deletes or replaces events. */
const REMOVED_BY = ['actor_id', ...EVENTS.key] as const;
/** The month of an event, in UTC, which is the time zone of the connection. */
const MONTH_OF_EVENT = `left(CAST(CAST("timestamp" AS DATE) AS VARCHAR), 7)`;

/** `place` is what holds the files, in messages. */
export function parquetTarget(files: CopyFiles, place: string): Pick<CopyTarget, 'transact'> {
  return {
    async transact(change) {
      const release = await files.lock();
      try {
        await transact(files, place, change);
      } finally {
        await release();
      }
    },
  };
}

async function transact(
  files: CopyFiles,
  place: string,
  change: Parameters<CopyTarget['transact']>[0],
): Promise<void> {
  const before = await files.begin().catch((error: unknown) => {
    throw refusedBy(`Cannot use the ${place}`, error);
  });
  try {
    const received = await Received.open(files);
    try {
      const state = await change(received.writing, before);
      await received.finish();
      await publish(files, received, before, state);
    } finally {
      received.close();
    }
  } finally {
    await files.end();
  }
}

async function publish(
  files: CopyFiles,
  received: Received,
  before: FilesState | undefined,
  state: CopyState,
): Promise<void> {
  try {
    const change = await received.write(before, state);
    if (change !== undefined) await files.change(change);
  } catch (error) {
    throw refusedBy('Cannot write the files of the copy', error);
  }
}

/** What a run has received so far. */
class Received {
  readonly #files: CopyFiles;
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;
  /** The tables that are filled again. */
  readonly #cleared = new Set<CopyTable>();

  private constructor(files: CopyFiles, instance: DuckDBInstance, connection: DuckDBConnection) {
    this.#files = files;
    this.#instance = instance;
    this.#connection = connection;
  }

  static async open(files: CopyFiles): Promise<Received> {
    const instance = await DuckDBInstance.create(join(files.unfinished, 'received.duckdb'), DUCKDB_OPTIONS);
    const received = new Received(files, instance, await instance.connect());
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
  async write(before: FilesState | undefined, state: CopyState): Promise<FilesChange | undefined> {
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
      const events = await this.#writeFile(month, await this.#eventsOf(month, kept));
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
    const files = await this.#reading(kept, [...REMOVED_BY, 'timestamp']);
    const touched = await this.#texts(
      `SELECT DISTINCT ${MONTH_OF_EVENT} FROM ${files} WHERE ${TOUCHED} ORDER BY ALL`,
    );
    return [...new Set([...received, ...touched])].sort();
  }

  async #hasRemoved(): Promise<boolean> {
    const counts = REMOVED_BY.map((column) => `(SELECT count(*) FROM ${removedBy(column)})`);
    return (await this.#texts(`SELECT ${counts.join(' + ')}`))[0] !== '0';
  }

  async #eventsOf(month: string, kept: readonly string[]): Promise<string> {
    const names = namesOf(EVENTS);
    const parts = [
      `SELECT ${names} FROM events WHERE "timestamp" >= TIMESTAMPTZ '${month}-01 00:00:00+00'
        AND "timestamp" < TIMESTAMPTZ '${month}-01 00:00:00+00' + INTERVAL 1 MONTH`,
    ];
    if (kept.includes(month))
      parts.unshift(`SELECT ${names} FROM ${await this.#reading([month])} WHERE NOT (${TOUCHED})`);
    return `SELECT * FROM (${parts.join(' UNION ALL ')}) ORDER BY "timestamp", ${keyNames(EVENTS)}`;
  }

  /** The months as a table that has the columns; absent: all of them. */
  async #reading(months: readonly string[], columns?: readonly string[]): Promise<string> {
    const paths = await this.#files.readable(months, columns);
    return `read_parquet([${paths.map(literal).join(', ')}], hive_partitioning = false)`;
  }

  /** Returns the number of rows; without any there is no file. */
  async #writeFile(name: string, rows: string): Promise<number> {
    const path = this.#files.nextFile(name);
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
