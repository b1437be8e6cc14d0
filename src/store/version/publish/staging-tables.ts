/**
 * Stages checked records in temporary tables beside the version under construction. `n` numbers all
 * records of an import in their order. `raw` is kept only if rejected records go to a file.
 */
import type { DuckDBAppender, DuckDBConnection, DuckDBDataChunk } from '@duckdb/node-api';
import { STAGED_COLUMNS, type StagedCell } from '../../staged-columns.ts';
import {
  type DeletionOf,
  type EventColumns,
  RECORD_KINDS,
  type RecordKind,
  type RecordOf,
  type Staged,
} from '../../staging.ts';
import { countRows } from '../database.ts';
import { CHUNK_ROWS, chunkOfCells, chunkOfEvents } from './staging-chunks.ts';

/**
 * An appender holds up to 204,800 rows before it hands them to DuckDB, outside of its memory limit.
 */
const MOST_CHARACTERS = 32 * 1024 * 1024;

type StagingTable = `${'staged' | 'deletions'}_${RecordKind}`;

/** The number of staged records of each kind. */
export async function countStaged(
  connection: DuckDBConnection,
): Promise<Readonly<Record<RecordKind, number>>> {
  const counts = await countRows(
    connection,
    RECORD_KINDS.map((kind) => `staged_${kind}`),
  );
  return Object.fromEntries(RECORD_KINDS.map((kind, at) => [kind, counts[at]])) as Record<RecordKind, number>;
}

async function createTable(
  connection: DuckDBConnection,
  table: StagingTable,
  kind: RecordKind,
): Promise<void> {
  const columns = STAGED_COLUMNS[kind].map(({ name, type }) => `${name} ${type}`);
  const listed = `n BIGINT, file BIGINT, line BIGINT, ${columns.join(', ')}, raw VARCHAR`;
  await connection.run(`CREATE TEMP TABLE ${table} (${listed})`);
}

/** The staging tables of one import, filled through DuckDB's appenders. */
export class StagingTables {
  readonly #connection: DuckDBConnection;
  readonly #appenders: Partial<Record<StagingTable, DuckDBAppender>> = {};
  /** Kinds with staged deletions; only these have a table for them. */
  readonly deleting = new Set<RecordKind>();
  #staged = 0;
  /** Of texts that the appenders may still hold. */
  #characters = 0;

  private constructor(connection: DuckDBConnection) {
    this.#connection = connection;
  }

  static async create(connection: DuckDBConnection): Promise<StagingTables> {
    for (const kind of RECORD_KINDS) {
      await createTable(connection, `staged_${kind}`, kind);
    }
    return new StagingTables(connection);
  }

  /** Number of staged records. */
  get count(): number {
    return this.#staged;
  }

  /** The order of records is the order of the calls, and within a call the order of the array. */
  async append<K extends RecordKind>(kind: K, records: readonly RecordOf[K][]): Promise<void> {
    await this.#appendRecords(`staged_${kind}`, kind, records);
  }

  /** Like `append`, for records to delete. */
  async appendDeletions<K extends RecordKind>(kind: K, records: readonly DeletionOf[K][]): Promise<void> {
    if (!this.deleting.has(kind)) await createTable(this.#connection, `deletions_${kind}`, kind);
    this.deleting.add(kind);
    await this.#appendRecords(`deletions_${kind}`, kind, records);
  }

  /** Like `append` of the same events as records. */
  async appendEvents(events: EventColumns): Promise<void> {
    for (let from = 0; from < events.count; from += CHUNK_ROWS) {
      await this.#append('staged_events', chunkOfEvents(events, from, this.#staged + 1));
    }
  }

  async #appendRecords(table: StagingTable, kind: RecordKind, records: readonly Staged[]): Promise<void> {
    const columns = STAGED_COLUMNS[kind];
    for (let from = 0; from < records.length; from += CHUNK_ROWS) {
      const rows = records.slice(from, from + CHUNK_ROWS);
      const cells: StagedCell[][] = [
        rows.map((_, at) => this.#staged + 1 + at),
        rows.map(({ file }) => file),
        rows.map(({ line }) => line),
        ...columns.map(({ cell }) => rows.map(cell)),
        rows.map(({ raw }) => raw),
      ];
      await this.#append(table, chunkOfCells(cells));
      this.#characters += charactersOf(cells);
      if (this.#characters > MOST_CHARACTERS) this.flush();
    }
  }

  async #append(table: StagingTable, chunk: DuckDBDataChunk): Promise<void> {
    const appender = this.#appenders[table] ?? (await this.#connection.createAppender(table));
    this.#appenders[table] = appender;
    appender.appendDataChunk(chunk);
    this.#staged += chunk.rowCount;
  }

  /** Makes all appended records visible to SQL. */
  flush(): void {
    this.#characters = 0;
    for (const appender of Object.values(this.#appenders)) appender.flushSync();
  }

  /** What has not been flushed can be lost. */
  close(): void {
    for (const appender of Object.values(this.#appenders)) {
      try {
        appender.closeSync();
      } catch {
        // On a full disk, it cannot hand over what it still holds.
      }
    }
  }
}

function charactersOf(columns: readonly (readonly StagedCell[])[]): number {
  let characters = 0;
  for (const cells of columns) {
    for (const cell of cells) if (typeof cell === 'string') characters += cell.length;
  }
  return characters;
}
