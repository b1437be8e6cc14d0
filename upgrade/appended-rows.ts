/** Rows of a table of version 0.1 on their way into a DuckDB file, as chunks of columns. */
import {
  BIGINT,
  type DuckDBConnection,
  DuckDBDataChunk,
  type DuckDBType,
  INTEGER,
  VARCHAR,
} from '@duckdb/node-api';
import { CHUNK_ROWS, fillBigints, fillIntegers } from '../src/store/version/publish/staging-chunks.ts';
import { type Carrier, type CopiedRows, type CopiedTable, columnsOf } from '../src/store/version-tables.ts';

/** Appends rows to the table, in the order in which they come. */
export async function appendRows(
  connection: DuckDBConnection,
  table: CopiedTable,
  rows: AsyncIterable<CopiedRows>,
  onRows: (count: number) => void,
): Promise<void> {
  const appender = await connection.createAppender(table);
  try {
    for await (const run of rows) {
      for (let from = 0; from < run.count; from += CHUNK_ROWS) {
        appender.appendDataChunk(chunkOf(table, run, from));
      }
      onRows(run.count);
    }
  } finally {
    appender.closeSync();
  }
}

const TYPES: Readonly<Record<Carrier, DuckDBType>> = { int4: INTEGER, int8: BIGINT, text: VARCHAR };

/** The rows from place `from` on, at most `CHUNK_ROWS`. Truth values are numbers, which DuckDB itself converts. */
function chunkOf(table: CopiedTable, { count, columns }: CopiedRows, from: number): DuckDBDataChunk {
  const to = Math.min(count, from + CHUNK_ROWS);
  // The order of rows is their place here.
  const taken = columnsOf(table).flatMap(({ name, type }, at) => (name === 'place' ? [] : [{ type, at }]));
  const chunk = DuckDBDataChunk.create(
    taken.map(({ type }) => TYPES[type]),
    to - from,
  );
  for (const [column, { at }] of taken.entries()) {
    const { values, present } = columns[at]!;
    const has = present?.subarray(from, to);
    if (values instanceof Int32Array) fillIntegers(chunk, column, values.subarray(from, to), has);
    else if (values instanceof BigInt64Array) fillBigints(chunk, column, values.subarray(from, to), has);
    else chunk.setColumnValues(column, values.slice(from, to));
  }
  return chunk;
}
