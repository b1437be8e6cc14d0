/** Streams the records of a version as columns. */
import { DuckDBBigIntVector, type DuckDBDataChunk } from '@duckdb/node-api';
import { makeRecords, RECORDS, type RecordColumns, type RecordTable } from '../../../dataset/records.ts';
import { TextColumn } from '../../../dataset/text-column.ts';
import { isDerivedName } from '../../../domain/derived-name.ts';
import { escapeLineEnds, hasLineEnds } from '../../../domain/json-text.ts';
import { slice } from '../../../system/time-slice.ts';
import { type Database, doubleColumn } from '../database.ts';
import { bytesOfRow } from '../long-texts.ts';
import { portionsOf } from '../portions.ts';
import { tableOf } from '../publish/schema.ts';
import { textColumn } from './text-vector.ts';

/** Fields that are not columns of the tables. */
const COMPUTED: Readonly<Record<string, string>> = { name_is_derived: isDerivedName('users') };

/** How a column is selected, and copied from a chunk, whose memory is freed with it. */
const READ = {
  id: { sql: (column: string) => column, copy: idColumn },
  text: { sql: (column: string) => `coalesce(${column}, '')`, copy: textColumn },
  list: { sql: (column: string) => column, copy: listColumn },
  instant: { sql: (column: string) => `coalesce(${column}::DOUBLE, 'NaN'::DOUBLE)`, copy: doubleColumn },
  flag: { sql: (column: string) => column, copy: flagColumn },
} as const;

/**
 * In the order of their indices. `format` is the format of the file. `since`: only records that are
 * new or have changed since that sequence.
 */
export async function* readRecords<T extends RecordTable>(
  database: Database,
  table: T,
  format: number,
  since?: number,
): AsyncGenerator<RecordColumns<T>, void> {
  const columns = Object.entries(RECORDS[table]);
  const list = columns.map(([name, kind]) => READ[kind].sql(COMPUTED[name] ?? name));
  const where = since === undefined ? '' : `WHERE revised > ${since}`;
  const source = `(FROM ${tableOf(table, format)} ${where})`;
  const size = bytesOfRow(table);
  for (const portion of await portionsOf((sql) => database.rows(sql), { source, key: 'ix', size })) {
    const sql = `SELECT ${list.join(', ')} FROM ${source} AS ${table} WHERE ${portion} ORDER BY ix`;
    for await (const chunk of database.stream(sql)) {
      let at = 0;
      yield await makeRecords(table, async (_, kind) => {
        // Copying thousands of texts takes long enough to yield in between.
        if (slice.isOver()) await slice.pass();
        return READ[kind].copy(chunk, at++);
      });
    }
  }
}

/** The bytes of all texts of the records, in UTF-8. */
export async function readTextBytes(database: Database, format: number): Promise<number> {
  const tables = Object.keys(RECORDS) as RecordTable[];
  const sums = tables.map((table) => `SELECT sum(${bytesOfRow(table)}) FROM ${tableOf(table, format)}`);
  const rows = await database.rows(sums.join(' UNION ALL '));
  return rows.reduce((sum, [bytes]) => sum + Number(bytes ?? 0), 0);
}

export function idColumn(chunk: DuckDBDataChunk, column: number): BigInt64Array {
  const vector = chunk.getColumnVector(column);
  if (!(vector instanceof DuckDBBigIntVector)) throw new Error(`column ${column} is no BIGINT`);
  return vector['items'].slice(0, chunk.rowCount);
}

export function flagColumn(chunk: DuckDBDataChunk, column: number): Uint8Array {
  const vector = chunk.getColumnVector(column);
  const flags = new Uint8Array(chunk.rowCount);
  for (let row = 0; row < flags.length; row++) flags[row] = Number(vector.getItem(row));
  return flags;
}

/** Texts that are JSON (decision 70). */
function listColumn(chunk: DuckDBDataChunk, column: number): TextColumn {
  const texts = textColumn(chunk, column);
  if (!hasLineEnds(texts.parts.bytes)) return new TextColumn({ ...texts.parts, isJson: true });
  return TextColumn.of(
    Array.from({ length: texts.count }, (_, row) => escapeLineEnds(texts.at(row))),
    true,
  );
}
