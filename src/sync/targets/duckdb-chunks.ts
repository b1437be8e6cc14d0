/**
 * Rows of a copy as DuckDB data chunks. Appending these takes less time and memory than statements
 * with values.
 */
import {
  BIGINT,
  DuckDBDataChunk,
  DuckDBTimestampTZValue,
  type DuckDBType,
  type DuckDBValue,
  LIST,
  listValue,
  TIMESTAMPTZ,
  VARCHAR,
} from '@duckdb/node-api';
import type { ColumnType, CopyCell, CopyRow, CopyTable } from '../tables.ts';

/** The largest number of rows in a DuckDB data chunk. */
const CHUNK_ROWS = 2048;
/** Of the chunks; tables have the same. */
const CHUNK_TYPES = {
  integer: BIGINT,
  text: VARCHAR,
  instant: TIMESTAMPTZ,
  texts: LIST(VARCHAR),
} satisfies Record<ColumnType, DuckDBType>;

export function* chunksOf({ columns }: CopyTable, rows: readonly CopyRow[]): Generator<DuckDBDataChunk> {
  const types = columns.map(({ type }) => CHUNK_TYPES[type]);
  for (let from = 0; from < rows.length; from += CHUNK_ROWS) {
    const some = rows.slice(from, from + CHUNK_ROWS);
    const chunk = DuckDBDataChunk.create(types, some.length);
    for (const [at, { type }] of columns.entries()) {
      const values = some.map((row) => duckdbValue(type, row[at] ?? null));
      chunk.setColumnValues(at, values);
    }
    yield chunk;
  }
}

function duckdbValue(type: ColumnType, cell: CopyCell): DuckDBValue {
  if (typeof cell !== 'string') return cell === null ? null : listValue(cell);
  if (type === 'integer') return BigInt(cell);
  return type === 'instant' ? new DuckDBTimestampTZValue(BigInt(Date.parse(cell)) * 1000n) : cell;
}
