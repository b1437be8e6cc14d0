/** Rows on their way from one store to another as DuckDB's chunks of columns, and back. */
import {
  BIGINT,
  DuckDBBigIntVector,
  type DuckDBConnection,
  DuckDBDataChunk,
  type DuckDBType,
  INTEGER,
  VARCHAR,
} from '@duckdb/node-api';
import {
  type Carried,
  type Carrier,
  type CopiedRows,
  type CopiedTable,
  columnsOf,
  copiedRows,
  selection,
} from '../copied-tables.ts';
import { text } from '../stored-values.ts';
import { integerColumn } from './database.ts';
import { CHUNK_ROWS, fillBigints, fillIntegers } from './staging-chunks.ts';

/** A chunk of the answer to `selection`; its memory ends with it, so values are copied. */
export function rowsOfChunk(table: CopiedTable, chunk: DuckDBDataChunk): CopiedRows {
  const columns = selection(table).types.map((type, at) => columnOfChunk(chunk, at, type));
  return copiedRows(table, chunk.rowCount, columns);
}

function columnOfChunk(chunk: DuckDBDataChunk, at: number, type: Carrier): Carried {
  if (type === 'int4') return integerColumn(chunk, at);
  if (type === 'text') return chunk.getColumnValues(at).map(text);
  const vector = chunk.getColumnVector(at);
  if (!(vector instanceof DuckDBBigIntVector)) throw new Error(`column ${at} is no BIGINT`);
  return vector['items'].slice(0, chunk.rowCount);
}

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
