/** Parquet files of a bucket on this machine: a whole file, or only some of its columns. */
import { type FileHandle, open } from 'node:fs/promises';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { AppError } from '../../domain/app-error.ts';
import { literal } from '../../domain/sql-literal.ts';
import type { BucketObject, S3Objects } from '../../store/chunks/s3-objects.ts';
import { inParallel } from '../../system/in-parallel.ts';
import { writeWhole } from '../../system/write-whole.ts';
import { DUCKDB_OPTIONS } from './duckdb-rows.ts';

/** Of one request. */
const RANGE_BYTES = 4 * 2 ** 20;
const PARALLEL = 4;
/** A smaller file is downloaded as a whole, with one request. */
const SMALL_BYTES = 2 ** 20;
/** At the end of a Parquet file: the length of its metadata in four bytes, and `PAR1`. */
const TRAILER_BYTES = 8;
const MAGIC = 'PAR1';

interface ByteSpan {
  readonly start: number;
  readonly length: number;
}

export interface Download {
  readonly object: BucketObject;
  /** Of the file on this machine. */
  readonly path: string;
}

export async function downloadFile(objects: S3Objects, { object, path }: Download): Promise<void> {
  const file = await open(path, 'w');
  try {
    await fill(objects, object, file, [{ start: 0, length: object.bytes }]);
  } finally {
    await file.close();
  }
}

/**
 * Makes files of the size of the objects in which these columns and the metadata can be read; the
 * rest takes no space.
 */
export async function downloadColumns(
  objects: S3Objects,
  downloads: readonly Download[],
  columns: readonly string[],
): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:', DUCKDB_OPTIONS);
  const connection = await instance.connect();
  try {
    for (const download of downloads) {
      if (download.object.bytes <= SMALL_BYTES) await downloadFile(objects, download);
      else await downloadParts(objects, download, columns, connection);
    }
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

async function downloadParts(
  objects: S3Objects,
  { object, path }: Download,
  columns: readonly string[],
  connection: DuckDBConnection,
): Promise<void> {
  const file = await open(path, 'w');
  try {
    await file.truncate(object.bytes);
    await fill(objects, object, file, [await metadataSpan(objects, object)]);
    const spans = await columnSpans(connection, path, columns);
    if (spans.some(({ start, length }) => start < 0 || start + length > object.bytes))
      throw damagedFile(object);
    await fill(objects, object, file, spans);
  } finally {
    await file.close();
  }
}

async function metadataSpan(objects: S3Objects, object: BucketObject): Promise<ByteSpan> {
  const trailer = Buffer.from(await objects.getRange(object, object.bytes - TRAILER_BYTES, TRAILER_BYTES));
  const length = trailer.readUInt32LE(0) + TRAILER_BYTES;
  if (trailer.toString('latin1', 4) !== MAGIC || length > object.bytes) throw damagedFile(object);
  return { start: object.bytes - length, length };
}

/** Where the columns are, in each of the row groups. */
async function columnSpans(
  connection: DuckDBConnection,
  path: string,
  columns: readonly string[],
): Promise<readonly ByteSpan[]> {
  const reader = await connection.runAndReadAll(
    `SELECT least(data_page_offset, coalesce(nullif(dictionary_page_offset, 0), data_page_offset)),
       total_compressed_size
     FROM parquet_metadata(${literal(path)}) WHERE path_in_schema IN (${columns.map(literal).join(', ')})`,
  );
  return reader.getRows().map(([start, length]) => ({ start: Number(start), length: Number(length) }));
}

async function fill(
  objects: S3Objects,
  object: BucketObject,
  file: FileHandle,
  spans: readonly ByteSpan[],
): Promise<void> {
  await inParallel(spans.flatMap(rangesOf), PARALLEL, () => async ({ start, length }) => {
    await writeWhole(file, await objects.getRange(object, start, length), start);
  });
}

function rangesOf({ start, length }: ByteSpan): readonly ByteSpan[] {
  return Array.from({ length: Math.ceil(length / RANGE_BYTES) }, (_, at) => {
    const from = at * RANGE_BYTES;
    return { start: start + from, length: Math.min(RANGE_BYTES, length - from) };
  });
}

function damagedFile({ key }: BucketObject): AppError {
  return new AppError('copy-refused', `${key} is no Parquet file of the copy. Use an empty or a new prefix.`);
}
