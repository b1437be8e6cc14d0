/** Reads the rows of a Parquet file as JSON, for an import. */
import type { DuckDBConnection, DuckDBDataChunk } from '@duckdb/node-api';
import { AppError } from '../../../domain/app-error.ts';
import { literal } from '../../../domain/sql-literal.ts';
import { refusalOfFooter } from './parquet-footer.ts';
import { openScratchDatabase } from './scratch-database.ts';

export interface ParquetRow {
  /** Number of the row, from 1. */
  readonly line: number;
  /**
   * A JSON object with a member for every column: integers exact, instants as ISO 8601 with offset.
   */
  readonly text: string;
}

/** Approximate length of the texts of a batch. */
const MOST_CHARACTERS = 1_000_000;
const INSTANT_FORM = '%Y-%m-%dT%H:%M:%S.%g+00:00';

/**
 * Reads the rows in the order of the file, in batches, with bounded memory. Throws
 * `file-unreadable`, also between rows, when the file is not Parquet or is damaged. DuckDB treats
 * paths as patterns: `path` must not contain `*`, `?` or `[`.
 */
export async function* readParquet(path: string): AsyncGenerator<readonly ParquetRow[]> {
  const refusal = await refusalOfFooter(path);
  if (refusal !== undefined) throw unreadable(refusal);
  // DuckDB must not spill to the disk: data that does not fit into memory is refused.
  using database = await openScratchDatabase([path], [], { temp_directory: '' });
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
      for (const texts of textsOf(chunk)) yield texts.map((text) => ({ line: ++line, text }));
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0]?.replaceAll(path, 'the file') : '';
    const isTooLarge = /^Out of Memory/.test(reason ?? '');
    throw unreadable(isTooLarge ? 'some of its rows together take more than 512 MB' : `${reason}`, error);
  }
}

/** The texts of a chunk, in smaller batches if they are long. */
function* textsOf(chunk: DuckDBDataChunk): Generator<string[]> {
  const vector = chunk.getColumnVector(0);
  let texts: string[] = [];
  let characters = 0;
  for (let row = 0; row < chunk.rowCount; row += 1) {
    const text = String(vector.getItem(row));
    texts.push(text);
    characters += text.length;
    if (characters < MOST_CHARACTERS) continue;
    yield texts;
    texts = [];
    characters = 0;
  }
  if (texts.length > 0) yield texts;
}

function unreadable(reason: string, cause?: unknown): AppError {
  return new AppError('file-unreadable', `Cannot read the Parquet data: ${reason}`, { cause });
}

/** The table with its instants as text, because they would lose their offset otherwise. */
async function readable(connection: DuckDBConnection, table: string): Promise<string> {
  const columns = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${table}`);
  const instants = columns
    .getRows()
    .filter(([, type]) => type === 'TIMESTAMP WITH TIME ZONE')
    .map(([name]) => `"${String(name).replaceAll('"', '""')}"`)
    .map((name) => `strftime(make_timestamp(epoch_us(${name})), '${INSTANT_FORM}') AS ${name}`);
  return instants.length === 0 ? table : `(SELECT * REPLACE (${instants.join(', ')}) FROM ${table})`;
}
