/** One DuckDB file: opens it with restricted access, runs queries, and reads typed columns. */
import { closeSync, openSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import {
  BIGINT,
  DOUBLE,
  type DuckDBConnection,
  type DuckDBDataChunk,
  DuckDBDoubleVector,
  DuckDBInstance,
  DuckDBIntegerVector,
  type DuckDBType,
  type DuckDBValue,
  LIST,
  listValue,
  VARCHAR,
} from '@duckdb/node-api';
import { literal } from '../../domain/sql-literal.ts';
import { isMissing } from '../../system/file-errors.ts';
import type { FilePart } from '../../system/file-part.ts';
import { slice } from '../../system/time-slice.ts';
import { unreadableVersion } from '../unreadable-version.ts';

/** Parameters by name; a list of ids is one value. */
export type StatementParameters = Readonly<
  Record<string, bigint | number | string | null | readonly bigint[]>
>;

export interface DatabaseOptions {
  readonly readOnly: boolean;
  readonly memoryBytes: number;
  /** Folder for data that does not fit into memory; DuckDB creates and removes it. */
  readonly spillFolder: string;
  /** Other version files that are only read, by the names under which they are attached. */
  readonly attached?: Readonly<Record<string, string>>;
  /** Whether DuckDB records which parts of the file it writes, for `Database.written`. */
  readonly recordsWrites?: boolean;
}

/** Endings of the names of a file and of its write-ahead logs. */
const BESIDE = ['', '.wal', '.wal.checkpoint', '.wal.recovery'];

/** The name of a file that is attached to record what is written to it. */
const RECORDED = 'recorded';
const WRITES = `
  SELECT pos, bytes FROM duckdb_logs_parsed('FileSystem')
  WHERE op = 'WRITE' AND path = (SELECT path FROM duckdb_databases() WHERE database_name = '${RECORDED}')`;

/**
 * DuckDB divides a table among threads by row groups of this size. For less data, waking the other
 * threads for each statement costs more than they contribute.
 */
const ROW_GROUP = 122_880;
/** The fixed size of a version file, about 5 MB, and fewer events than a row group. */
const ONE_THREAD_BYTES = 8 * 1024 * 1024;

/**
 * The rows of up to this number of boards or users are looked for in the row groups that can have
 * them, and not in a whole table. DuckDB's default is 50.
 */
const VALUES_TO_LOOK_FOR = '1000';

/** Rows between two checks of the time slice. */
const ROWS_AT_ONCE = 128;

export class Database {
  readonly #open: () => Promise<DuckDBInstance>;
  readonly #isRecorded: boolean;
  readonly #release: () => void;
  /** Absent before the first query. */
  #opening: Promise<DuckDBInstance> | undefined;
  #instance: DuckDBInstance | undefined;
  readonly #idle: DuckDBConnection[] = [];
  #closed = false;

  private constructor(open: () => Promise<DuckDBInstance>, isRecorded: boolean, release = () => {}) {
    this.#open = open;
    this.#isRecorded = isRecorded;
    this.#release = release;
  }

  /**
   * Opens the file with a memory limit for this process. DuckDB has no access to other files, and
   * never downloads extensions. A small file is read by one thread.
   */
  static async open(path: string, options: DatabaseOptions): Promise<Database> {
    const database = new Database(() => openFile(path, options), options.recordsWrites === true);
    await database.#opened();
    return database;
  }

  /**
   * Like `open`, but opens the file at the first query, and verifies it with `verify`. If either
   * fails, the query fails with `data-unreadable`. The file can be renamed, replaced or deleted
   * before. Undefined on systems where that is not possible.
   */
  static openLater(
    path: string,
    options: DatabaseOptions,
    verify: (ask: (sql: string) => Promise<DuckDBValue[][]>) => Promise<unknown>,
  ): Database | undefined {
    if (process.platform !== 'linux') return undefined;
    const descriptor = openExisting(path);
    // DuckDB looks for a write-ahead log beside the file itself, so the access is restricted only
    // when the file is open.
    const open = async () => {
      const instance = await openFile(`/proc/self/fd/${descriptor}`, { ...options, attached: {} });
      const connection = await instance.connect();
      try {
        await verify((sql) => runRows(connection, sql));
      } catch (error) {
        instance.closeSync();
        // Requests meet it, so the reason is only logged.
        throw unreadableVersion(error);
      } finally {
        connection.closeSync();
      }
      return instance;
    };
    return new Database(open, false, () => closeSync(descriptor));
  }

  get isOpen(): boolean {
    return this.#instance !== undefined;
  }

  async #opened(): Promise<DuckDBInstance> {
    if (this.#closed) throw new Error('a version is read after it was closed');
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    const instance = await this.#opening;
    if (this.#closed && this.#instance === undefined) instance.closeSync();
    else this.#instance = instance;
    return instance;
  }

  /**
   * A connection that the caller closes. Temporary tables and appenders live as long as it does.
   */
  async connect(): Promise<DuckDBConnection> {
    const connection = await (await this.#opened()).connect();
    if (this.#isRecorded) await connection.run(`USE ${RECORDED}`);
    return connection;
  }

  /**
   * The parts of the file that were written since it was opened, one for each write; absent without
   * `recordsWrites`. Call it after a checkpoint: closing the file writes nothing then.
   */
  async written(): Promise<readonly FilePart[] | undefined> {
    if (!this.#isRecorded) return undefined;
    const rows = await this.rows(WRITES);
    return rows.map(([start, length]) => ({ start: Number(start), length: Number(length) }));
  }

  /** All rows of a small result, as arrays of values in the order of the columns. */
  async rows(sql: string, parameters: StatementParameters = {}): Promise<DuckDBValue[][]> {
    return await this.#lend(async (connection) => await runRows(connection, sql, parameters));
  }

  /** The chunks of a result of any size, as they are produced; only a few are in memory at once. */
  async *stream(sql: string, parameters: StatementParameters = {}): AsyncGenerator<DuckDBDataChunk> {
    const connection = await this.#take();
    let drained = false;
    try {
      const result = await connection.stream(sql, ...bound(parameters));
      for (;;) {
        const chunk = await result.fetchChunk();
        if (chunk === null || chunk.rowCount === 0) break;
        yield chunk;
      }
      drained = true;
    } catch (error) {
      throw describeDamage(error);
    } finally {
      // If the result is not read to its end, its query stays on the connection; closing it ends
      // the query.
      if (drained && !this.#closed) this.#idle.push(connection);
      else connection.closeSync();
    }
  }

  /** All chunks of a result that is known to be bounded. */
  async chunks(sql: string, parameters: StatementParameters = {}): Promise<DuckDBDataChunk[]> {
    return await this.#lend(async (connection) => {
      const result = await connection.run(sql, ...bound(parameters));
      return await result.fetchAllChunks();
    });
  }

  close(): void {
    this.#closed = true;
    for (const connection of this.#idle.splice(0)) connection.closeSync();
    this.#instance?.closeSync();
    this.#release();
  }

  async #take(): Promise<DuckDBConnection> {
    try {
      return this.#idle.pop() ?? (await this.connect());
    } catch (error) {
      throw describeDamage(error);
    }
  }

  async #lend<T>(use: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    const connection = await this.#take();
    try {
      return await use(connection);
    } catch (error) {
      throw describeDamage(error);
    } finally {
      if (this.#closed) connection.closeSync();
      else this.#idle.push(connection);
    }
  }
}

async function openFile(path: string, options: DatabaseOptions): Promise<DuckDBInstance> {
  const size = (await stat(path).catch(() => undefined))?.size ?? 0;
  const { attached = {}, recordsWrites = false } = options;
  const attaches = recordsWrites || options.attached !== undefined;
  const instance = await createInstance(recordsWrites ? ':memory:' : path, {
    ...(size <= ONE_THREAD_BYTES ? { threads: '1' } : {}),
    access_mode: options.readOnly ? 'READ_ONLY' : 'READ_WRITE',
    memory_limit: inMegabytes(options.memoryBytes),
    temp_directory: options.spillFolder,
    autoinstall_known_extensions: 'false',
    dynamic_or_filter_threshold: VALUES_TO_LOOK_FOR,
    ...(attaches ? {} : { enable_external_access: 'false' }),
  });
  if (attaches) await attach(instance, attached, recordsWrites ? path : undefined);
  return instance;
}

async function createInstance(path: string, options: Record<string, string>): Promise<DuckDBInstance> {
  try {
    return await DuckDBInstance.create(path, options);
  } catch (error) {
    throw describeDamage(error);
  }
}

function openExisting(path: string): number {
  try {
    return openSync(path, 'r');
  } catch (error) {
    throw isMissing(error) ? unreadableVersion(error) : error;
  }
}

/**
 * Attaches files to all connections, and removes the access to all others. `recorded`: a file that
 * is changed, and whose writes are recorded.
 */
async function attach(
  instance: DuckDBInstance,
  files: Readonly<Record<string, string>>,
  recorded?: string,
): Promise<void> {
  const connection = await instance.connect();
  try {
    const paths = recorded === undefined ? Object.values(files) : [...Object.values(files), recorded];
    const allowed = paths.flatMap((path) => BESIDE.map((ending) => literal(path + ending)));
    await connection.run(`SET allowed_paths = [${allowed.join(', ')}]; SET enable_external_access = false;`);
    for (const [name, path] of Object.entries(files))
      await connection.run(`ATTACH ${literal(path)} AS ${name} (READ_ONLY)`);
    // Files that are open already would not be in the log.
    if (recorded !== undefined)
      await connection.run(`CALL enable_logging('FileSystem'); ATTACH ${literal(recorded)} AS ${RECORDED}`);
  } catch (error) {
    instance.closeSync();
    throw describeDamage(error);
  } finally {
    connection.closeSync();
  }
}

/**
 * Converts the error of an unreadable file to `data-unreadable`; returns any other error unchanged.
 */
function describeDamage(error: unknown): unknown {
  if (
    !(
      error instanceof Error &&
      /^IO Error: (?:Corrupt database file|Could not read|Cannot open|The file .* is not a valid DuckDB)/.test(
        error.message,
      )
    )
  ) {
    return error;
  }
  return unreadableVersion(error);
}

export async function runRows(
  connection: DuckDBConnection,
  sql: string,
  parameters: StatementParameters = {},
): Promise<DuckDBValue[][]> {
  const result = await connection.run(sql, ...bound(parameters));
  const rows: DuckDBValue[][] = [];
  for (const chunk of await result.fetchAllChunks()) {
    for await (const some of rowsOf(chunk)) rows.push(...some);
  }
  return rows;
}

/** Number of rows of each table or query, in their order. */
export async function countRows<const T extends readonly string[]>(
  connection: DuckDBConnection,
  tables: T,
): Promise<{ [I in keyof T]: number }> {
  // Takes less than half as long to plan as one row of subqueries.
  const counts = tables.map((table, at) => `SELECT ${at} AS place, count(*) FROM ${table}`);
  const rows = await runRows(connection, `${counts.join(' UNION ALL ')} ORDER BY place`);
  return rows.map(([, count]) => Number(count)) as { [I in keyof T]: number };
}

/** Creates or replaces a temporary table with the rows of queries; returns their number. */
export async function fillTemporary(
  connection: DuckDBConnection,
  table: string,
  ...queries: readonly string[]
): Promise<number> {
  let rows = 0;
  for (const [at, query] of queries.entries()) {
    const into = at === 0 ? `CREATE OR REPLACE TEMP TABLE ${table} AS` : `INSERT INTO ${table}`;
    const [row] = await runRows(connection, `${into} ${query}`);
    rows += Number(row?.[0]);
  }
  return rows;
}

/** Changes how much memory DuckDB may use for this file before it writes to disk. */
export async function setMemory(connection: DuckDBConnection, bytes: number): Promise<void> {
  await connection.run(`SET memory_limit = '${inMegabytes(bytes)}'`);
}

function inMegabytes(bytes: number): string {
  return `${Math.floor(bytes / 1e6)}MB`;
}

/** Lets statements use all threads if they process many rows. */
export async function prepareThreads(connection: DuckDBConnection, rows: number): Promise<void> {
  if (rows >= ROW_GROUP) await connection.run('RESET threads');
}

/** The rows of a chunk in time slices, because rows with texts are slow to read. */
async function* rowsOf(chunk: DuckDBDataChunk): AsyncGenerator<DuckDBValue[][], void> {
  for (let from = 0; from < chunk.rowCount; from += ROWS_AT_ONCE) {
    if (from > 0 && slice.isOver()) await slice.pass();
    const count = Math.min(ROWS_AT_ONCE, chunk.rowCount - from);
    yield Array.from({ length: count }, (_, row) => chunk.getRowValues(from + row));
  }
}

function bound(parameters: StatementParameters): [Record<string, DuckDBValue>, Record<string, DuckDBType>] {
  const values: Record<string, DuckDBValue> = {};
  const types: Record<string, DuckDBType> = {};
  for (const [name, value] of Object.entries(parameters)) {
    values[name] = typeof value === 'object' && value !== null ? listValue([...value]) : value;
    types[name] = typeOf(value);
  }
  return [values, types];
}

function typeOf(value: StatementParameters[string]): DuckDBType {
  if (typeof value === 'string') return VARCHAR;
  if (typeof value === 'number') return DOUBLE;
  if (typeof value === 'object' && value !== null) return LIST(BIGINT);
  return BIGINT;
}

// `items`, the typed array behind a vector, is private in the driver's types. The public interface
// creates each value separately.

/** A copy of an INTEGER column without nulls; the memory of a chunk is freed with the chunk. */
export function integerColumn(chunk: DuckDBDataChunk, column: number): Int32Array {
  const vector = chunk.getColumnVector(column);
  if (!(vector instanceof DuckDBIntegerVector)) throw new Error(`column ${column} is no INTEGER`);
  return vector['items'].slice(0, chunk.rowCount);
}

/** A copy of a DOUBLE column without nulls. */
export function doubleColumn(chunk: DuckDBDataChunk, column: number): Float64Array {
  const vector = chunk.getColumnVector(column);
  if (!(vector instanceof DuckDBDoubleVector)) throw new Error(`column ${column} is no DOUBLE`);
  return vector['items'].slice(0, chunk.rowCount);
}

/** Concatenates one INTEGER column of several chunks, in time slices. */
export async function joinedIntegers(
  chunks: readonly DuckDBDataChunk[],
  column: number,
): Promise<Int32Array> {
  const joined = new Int32Array(chunks.reduce((sum, chunk) => sum + chunk.rowCount, 0));
  let at = 0;
  for (const chunk of chunks) {
    if (slice.isOver()) await slice.pass();
    joined.set(integerColumn(chunk, column), at);
    at += chunk.rowCount;
  }
  return joined;
}

/** Concatenates one DOUBLE column of several chunks, in time slices. */
export async function joinedDoubles(
  chunks: readonly DuckDBDataChunk[],
  column: number,
): Promise<Float64Array> {
  const joined = new Float64Array(chunks.reduce((sum, chunk) => sum + chunk.rowCount, 0));
  let at = 0;
  for (const chunk of chunks) {
    if (slice.isOver()) await slice.pass();
    joined.set(doubleColumn(chunk, column), at);
    at += chunk.rowCount;
  }
  return joined;
}
