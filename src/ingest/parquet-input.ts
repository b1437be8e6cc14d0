/** Reads a Parquet input as JSON texts, whatever it comes from; the reader of Parquet itself is given. */
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../app-error.ts';
import { openTemporaryFolder } from '../temporary-folder.ts';
import { unpack } from './bytes.ts';
import type { OpenInput } from './open-input.ts';
import { Damage } from './refusal.ts';

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
): AsyncGenerator<readonly ParquetRow[]> {
  const { input, form, source } = open;
  // A reader may take `*`, `?` and `[` in a path for a pattern.
  const isPlainFile = input.byteLength !== undefined && form.compression === 'none';
  if (isPlainFile && input.path !== undefined && !/[*?[]/.test(input.path)) {
    yield* readPlainParquet(input.path, readParquet);
    return;
  }
  using folder = openTemporaryFolder();
  const path = join(folder.path, 'input.parquet');
  await pipeline(unpack(source.read(isLast), form.compression), createWriteStream(path));
  yield* readPlainParquet(path, readParquet);
}

async function* readPlainParquet(path: string, readParquet: ReadParquet) {
  try {
    yield* readParquet(path);
  } catch (error) {
    if (error instanceof AppError) throw new Damage(error.message);
    throw error;
  }
}
