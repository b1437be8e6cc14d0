/** Writes Parquet files from records in NDJSON, for an export. */
import { chmod } from 'node:fs/promises';
import { literal } from '../../../domain/sql-literal.ts';
import { openScratchDatabase } from './scratch-database.ts';

/** More than the largest record that an import accepts, as JSON. */
const LARGEST_RECORD_BYTES = 64 * 1024 * 1024;

const TYPES = { integer: 'BIGINT', text: 'VARCHAR', instant: 'TIMESTAMPTZ', texts: 'VARCHAR[]' } as const;

/** Keeps the order of the lines, in bounded memory. Paths must not contain `*`, `?` or `[`. */
export async function writeParquet(
  ndjson: string,
  parquet: string,
  fields: Readonly<Record<string, keyof typeof TYPES>>,
): Promise<void> {
  using database = await openScratchDatabase([ndjson, parquet]);
  const columns = Object.entries(fields).map(([name, type]) => `${literal(name)}: '${TYPES[type]}'`);
  await database.connection.run(
    `COPY (
       SELECT * FROM read_json(${literal(ndjson)}, format = 'newline_delimited',
         columns = {${columns.join(', ')}}, maximum_object_size = ${LARGEST_RECORD_BYTES})
     ) TO ${literal(parquet)} (FORMAT parquet, COMPRESSION zstd)`,
  );
  // Like all files of an export, readable by its owner only.
  await chmod(parquet, 0o600);
}
