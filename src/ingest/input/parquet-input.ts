/** Reads a Parquet input as JSON texts, whatever it comes from; the reader of Parquet itself is given. */
import { createWriteStream } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../../domain/app-error.ts';
import { openTemporaryFolder } from '../../system/temporary-folder.ts';
import { Damage } from '../fields/refusal.ts';
import type { Input } from './bundle.ts';
import { unpack } from './decompression.ts';
import { openFound } from './found-file.ts';
import { KEPT_OF_OVERLONG, type Line, LONGEST_RECORD_BYTES, TOO_LONG } from './lines.ts';
import type { OpenInput } from './open-input.ts';

/** A row of a Parquet file as the text of a JSON object. */
interface ParquetRow {
  /** From 1. */
  readonly line: number;
  readonly text: string;
}

/** Reads a Parquet file. Throws `file-unreadable` when it is none, or is damaged; rows before stay good. */
export type ReadParquet = (path: string) => AsyncIterable<readonly ParquetRow[]>;

/** A Parquet file is read from its end, so what is no plain file is written to one first. */
export async function* readParquetInput(
  open: OpenInput,
  isLast: boolean,
  readParquet: ReadParquet,
): AsyncGenerator<readonly Line[]> {
  const { input, form, source } = open;
  if (form.compression === 'none') {
    await using plain = await openPlainFile(input);
    if (plain !== undefined) {
      yield* readPlainParquet(plain.path, readParquet);
      return;
    }
  }
  using folder = openTemporaryFolder();
  const path = join(folder.path, 'input.parquet');
  const { bavail, bsize } = await statfs(folder.path);
  const bytes = atMost(unpack(source.read(isLast), form.compression), (bavail * bsize) / 2);
  await pipeline(bytes, createWriteStream(path));
  yield* readPlainParquet(path, readParquet);
}

/**
 * A path that leads to the file itself; absent where there is none, and its bytes have to be
 * copied.
 */
async function openPlainFile({
  path,
  byteLength,
  identity,
}: Input): Promise<({ readonly path: string } & AsyncDisposable) | undefined> {
  if (path === undefined || byteLength === undefined) return undefined;
  if (identity === undefined) {
    // A reader may take `*`, `?` and `[` in a path for a pattern.
    return /[*?[]/.test(path) ? undefined : { path, async [Symbol.asyncDispose]() {} };
  }
  if (process.platform !== 'linux') return undefined;
  // By its own path the file could be exchanged until it is opened once more.
  const file = await openFound(path, identity);
  return { path: `/proc/self/fd/${file.fd}`, [Symbol.asyncDispose]: () => file.close() };
}

/**
 * Throws `Damage` when there are more: other programs have their temporary files on the same disk.
 */
async function* atMost(bytes: AsyncIterable<Buffer>, most: number): AsyncGenerator<Buffer> {
  let count = 0;
  for await (const chunk of bytes) {
    count += chunk.length;
    if (count > most) {
      throw new Damage(
        'the Parquet data takes more than half of the room for temporary files (TMPDIR); ' +
          'give it as a plain file, which is read where it lies',
      );
    }
    yield chunk;
  }
}

async function* readPlainParquet(path: string, readParquet: ReadParquet): AsyncGenerator<readonly Line[]> {
  try {
    for await (const rows of readParquet(path)) yield rows.map(lineOf);
  } catch (error) {
    if (error instanceof AppError) throw new Damage(error.message);
    throw error;
  }
}

function lineOf(row: ParquetRow): Line {
  if (row.text.length <= LONGEST_RECORD_BYTES) return row;
  return { line: row.line, text: row.text.slice(0, KEPT_OF_OVERLONG), problem: TOO_LONG };
}
