/** Reads rows of a DuckDB file as columns, for copying. */
import { DuckDBBigIntVector, type DuckDBDataChunk } from '@duckdb/node-api';
import { text } from '../../stored-values.ts';
import {
  type Carried,
  type Carrier,
  type CopiedRows,
  type CopiedTable,
  copiedRows,
  selection,
} from '../../version-tables.ts';
import { integerColumn } from '../database.ts';

/**
 * Converts a chunk of the result of `selection`. Values are copied, because its memory is freed
 * with it.
 */
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
