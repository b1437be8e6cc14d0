/**
 * Reads an input, whatever its form, as written records in order, with bounded memory. What cannot be read comes as
 * a refusal at its line; what ends the reading comes last.
 */
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../app-error.ts';
import type { Input } from './bundle.ts';
import { unpack } from './bytes.ts';
import { readRows } from './csv.ts';
import { checkHeader, type Written } from './form.ts';
import { readObject } from './json.ts';
import { readElements } from './json-array.ts';
import { type Line, readLines } from './lines.ts';
import type { OpenInput } from './open-input.ts';
import { Damage, Refusal } from './refusal.ts';

/** A row of a Parquet file as the text of a JSON object. */
interface ParquetRow {
  /** From 1. */
  readonly line: number;
  readonly text: string;
}

/** Reads a Parquet file. Throws `file-unreadable` when it is none, or is damaged; rows before stay good. */
export type ReadParquet = (path: string) => AsyncIterable<readonly ParquetRow[]>;

/** A record as it stands in its input, or why it could not be read. */
export interface Reading {
  /** First line of the record, from 1; 0 speaks of the whole file. */
  readonly line: number;
  /** The text of the record, in CSV without its line end; absent when not a record but the input is refused. */
  readonly raw: string | undefined;
  readonly written: Written | Refusal;
}

/**
 * The records of the input in order, many at a time. `last` says that the input will not be read again. Throws
 * `file-unreadable` when the file cannot be read at all.
 */
export async function* readRecords(
  open: OpenInput,
  last: boolean,
  readParquet: ReadParquet,
): AsyncGenerator<readonly Reading[]> {
  let line = 0;
  try {
    for await (const readings of readForm(open, last, readParquet)) {
      line = readings.at(-1)?.line ?? line;
      yield readings;
    }
  } catch (error) {
    if (!(error instanceof Damage)) throw error;
    const where = line === 0 ? '' : ` (after the record of line ${line})`;
    yield [{ line, raw: undefined, written: new Refusal('', `${error.message}${where}`) }];
  }
}

async function* readForm(open: OpenInput, last: boolean, readParquet: ReadParquet) {
  const { input, form, source } = open;
  if (form.format === 'parquet') {
    for await (const rows of readParquetInput(open, last, readParquet)) yield rows.map(readJson);
    return;
  }
  const bytes = unpack(source.read(last), form.compression);
  if (form.format === 'csv') yield* readCsv(bytes, input);
  else if (form.format === 'json')
    for await (const elements of readElements(bytes)) yield elements.map(readJson);
  else {
    for await (const lines of readLines(bytes)) {
      yield lines.filter(({ text }) => text.trim() !== '').map(readJson);
    }
  }
}

function readJson({ line, text, problem }: Line): Reading {
  if (problem !== undefined) return { line, raw: text, written: new Refusal('', problem) };
  try {
    return { line, raw: text, written: { value: readObject(text), isCells: false } };
  } catch (error) {
    if (error instanceof Refusal) return { line, raw: text, written: error };
    throw error;
  }
}

async function* readCsv(bytes: AsyncIterable<Buffer>, input: Input): AsyncGenerator<readonly Reading[]> {
  let header: readonly string[] | undefined;
  for await (const rows of readRows(readLines(bytes))) {
    const readings: Reading[] = [];
    for (const { line, raw, cells, problem } of rows) {
      if (problem !== undefined) {
        if (header === undefined) throw new Damage(`the header ${problem}`);
        readings.push({ line, raw, written: new Refusal('', problem) });
        continue;
      }
      if (header !== undefined) {
        readings.push({ line, raw, written: writtenCells(header, cells) });
        continue;
      }
      header = cells;
      const refusal = refusalOfHeader(input, header);
      if (refusal === undefined) continue;
      // No record can hold under a header that does not.
      yield [{ line, raw: undefined, written: refusal }];
      return;
    }
    yield readings;
  }
  if (header === undefined) throw new Damage('the file has no header');
}

function refusalOfHeader(input: Input, header: readonly string[]): Refusal | undefined {
  try {
    checkHeader(input.kind, header);
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

function writtenCells(header: readonly string[], cells: readonly string[]): Written | Refusal {
  if (cells.length !== header.length) {
    return new Refusal('', `has ${cells.length} cells, but the header has ${header.length}`);
  }
  const value: Record<string, string> = {};
  for (let at = 0; at < cells.length; at += 1) value[header[at] ?? ''] = cells[at] ?? '';
  return { value, isCells: true };
}

/** A Parquet file is read from its end, so what is no plain file is written to one first. */
async function* readParquetInput(
  open: OpenInput,
  last: boolean,
  readParquet: ReadParquet,
): AsyncGenerator<readonly ParquetRow[]> {
  const { input, form, source } = open;
  // A reader may take `*`, `?` and `[` in a path for a pattern.
  const isPlainFile = input.byteLength !== undefined && form.compression === 'none';
  if (isPlainFile && input.path !== undefined && !/[*?[]/.test(input.path)) {
    yield* readPlainParquet(input.path, readParquet);
    return;
  }
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-'));
  try {
    const path = join(folder, 'input.parquet');
    await pipeline(unpack(source.read(last), form.compression), createWriteStream(path));
    yield* readPlainParquet(path, readParquet);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function* readPlainParquet(path: string, readParquet: ReadParquet) {
  try {
    yield* readParquet(path);
  } catch (error) {
    if (error instanceof AppError) throw new Damage(error.message);
    throw error;
  }
}
