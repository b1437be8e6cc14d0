/** Appends rows of a table of Corkboard 0.1 to a DuckDB file, as chunks of columns. */
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

/** Appends rows to the table, in their order of arrival. */
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

/** At most `CHUNK_ROWS` rows, beginning at `from`. Booleans are numbers, which DuckDB converts. */
function chunkOf(table: CopiedTable, { count, columns }: CopiedRows, from: number): DuckDBDataChunk {
  const to = Math.min(count, from + CHUNK_ROWS);
  // The column `place` is left out: the order of the rows replaces it.
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
    else {
      const texts = values.slice(from, to);
      chunk.setColumnValues(
        column,
        has === undefined ? texts : texts.map((one, row) => (has[row] === 1 ? one : null)),
      );
    }
  }
  return chunk;
}
