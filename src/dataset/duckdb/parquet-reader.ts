/** Reads the rows of a Parquet file as JSON, for an import. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { AppError } from '../../app-error.ts';
import { literal, openScratchDatabase } from './scratch-database.ts';

export interface ParquetRow {
  /** Number of the row, from 1. */
  readonly line: number;
  /** A JSON object with a member for every column, integers exactly, instants as ISO 8601 with offset. */
  readonly text: string;
}

const INSTANT_FORM = '%Y-%m-%dT%H:%M:%S.%g+00:00';

/**
 * The rows in the order of the file, many at a time, with bounded memory. Throws `file-unreadable`, also between
 * rows, when the file is not Parquet or is damaged. DuckDB takes paths for patterns: `path` must hold no `*`, `?`, `[`.
 */
export async function* readParquet(path: string): AsyncGenerator<readonly ParquetRow[]> {
  using database = await openScratchDatabase([path]);
  yield* readRows(database.connection, path);
}

async function* readRows(connection: DuckDBConnection, path: string): AsyncGenerator<readonly ParquetRow[]> {
  let line = 0;
  try {
    const table = `read_parquet(${literal(path)})`;
    const result = await connection.stream(
      `SELECT to_json(row)::VARCHAR FROM ${await readable(connection, table)} row`,
    );
    for (;;) {
      const chunk = await result.fetchChunk();
      if (chunk === null || chunk.rowCount === 0) return;
      yield chunk.getColumnValues(0).map((value) => ({ line: ++line, text: String(value) }));
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0]?.replaceAll(path, 'the file') : '';
    throw new AppError('file-unreadable', `The Parquet data cannot be read: ${reason}`, { cause: error });
  }
}

/** The table with its instants as text, which would lose their offset otherwise. */
async function readable(connection: DuckDBConnection, table: string): Promise<string> {
  const columns = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${table}`);
  const instants = columns
    .getRows()
    .filter(([, type]) => type === 'TIMESTAMP WITH TIME ZONE')
    .map(([name]) => `"${String(name).replaceAll('"', '""')}"`)
    .map((name) => `strftime(make_timestamp(epoch_us(${name})), '${INSTANT_FORM}') AS ${name}`);
  return instants.length === 0 ? table : `(SELECT * REPLACE (${instants.join(', ')}) FROM ${table})`;
}
