/** Reads a Parquet input from any source as JSON texts. The caller provides the Parquet reader. */
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
interface InputRow {
  /** Row number, from 1. */
  readonly line: number;
  readonly text: string;
}

/**
 * Reads a Parquet file. Throws `file-unreadable` when the file is not Parquet or is damaged; rows
 * before the damage remain valid.
 */
export type ReadParquet = (path: string) => AsyncIterable<readonly InputRow[]>;

/**
 * Parquet is read from the end of the file, so any input that is not a plain file is first copied
 * to one.
 */
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

/** A path that opens the file itself; undefined if there is none and the bytes must be copied. */
async function openPlainFile({
  path,
  byteLength,
  identity,
}: Input): Promise<({ readonly path: string } & AsyncDisposable) | undefined> {
  if (path === undefined || byteLength === undefined) return undefined;
  if (identity === undefined) {
    // A Parquet reader may treat `*`, `?` and `[` in a path as a pattern.
    return /[*?[]/.test(path) ? undefined : { path, async [Symbol.asyncDispose]() {} };
  }
  if (process.platform !== 'linux') return undefined;
  // At its own path, the file could be replaced before it is opened again.
  const file = await openFound(path, identity);
  return { path: `/proc/self/fd/${file.fd}`, [Symbol.asyncDispose]: () => file.close() };
}

/**
 * Passes at most `most` bytes. Throws `Damage` when there are more, because other programs keep
 * their temporary files on the same disk.
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

function lineOf(row: InputRow): Line {
  if (row.text.length <= LONGEST_RECORD_BYTES) return row;
  return { line: row.line, text: row.text.slice(0, KEPT_OF_OVERLONG), problem: TOO_LONG };
}
