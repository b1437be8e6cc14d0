/**
 * Imports of mutated files in several ways: all must read the same records, and publish everything
 * or nothing.
 */

import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { makeRandom, type Random } from '../../bench/random.ts';
import type { FormatName } from '../../src/ingest/formats/choices.ts';
import { plainDerivation } from '../../src/ingest/formats/derivation.ts';
import type { FormatOptions } from '../../src/ingest/formats/format.ts';
import { FORMATS } from '../../src/ingest/formats/formats.ts';
import { type ImportOptions, type ImportReport, importBundle } from '../../src/ingest/import.ts';
import { findBundle } from '../../src/ingest/input/bundle.ts';
import { RECORD_KINDS } from '../../src/store/staging.ts';
import { readParquet } from '../../src/store/version/parquet/parquet-reader.ts';
import { openRecordingStore, type RecordingStore } from '../ingest/recording-store.ts';
import type { Files } from './mutations/documents.ts';
import { hostileText } from './mutations/values.ts';
import { importIntoRealStore, type RealStore, sharedRealStore } from './real-store.ts';
import type { Sandbox } from './sandbox.ts';
import { type Complaint, complaintsOf, type OpenTarget, type Target } from './target.ts';

interface ImportCase {
  /** Base64 by file name. */
  readonly files: Readonly<Record<string, string>>;
  readonly format: FormatName | undefined;
  readonly options: FormatOptions;
  readonly isReal: boolean;
  /** Seed that chooses the file to stream, and splits it into chunks. */
  readonly pieces: number;
}

export interface ImportTarget {
  readonly name: string;
  readonly format?: FormatName;
  readonly seeds: () => Promise<readonly Files[]>;
  readonly mutate: (random: Random, files: Files) => Files;
}

/** One in this many cases is also imported into a real store, which takes far longer. */
const REAL_EVERY = 80;

export function importTarget({ name, format, seeds, mutate }: ImportTarget): Target {
  return {
    name,
    async open(): Promise<OpenTarget<ImportCase>> {
      const sets = await seeds();
      const real = await sharedRealStore();
      return {
        make(random) {
          const files = Object.entries(mutate(random, random.pick(sets)));
          return {
            files: Object.fromEntries(files.map(([file, bytes]) => [file, bytes.toString('base64')])),
            format,
            options: optionsOf(random, format),
            isReal: random.below(REAL_EVERY) === 0,
            pieces: random.below(1_000),
          };
        },
        run: (one, sandbox) => runImport(one, sandbox, real),
        [Symbol.asyncDispose]: async () => {},
      };
    },
  };
}

function optionsOf(random: Random, format: FormatName | undefined): FormatOptions {
  const mapping =
    random.below(10) === 0
      ? { [hostileText(random).slice(0, 100)]: random.pick([null, 'pin.visited', 'a.b']) }
      : undefined;
  const local = format === 'moodle-log' && { timeZone: random.pick(['Asia/Muscat', 'Europe/Paris', 'UTC']) };
  const dateOrder =
    format === 'moodle-log' && random.below(4) === 0
      ? random.pick(['dmy', 'mdy', 'ymd'] as const)
      : undefined;
  return { ...local, dateOrder, mapping };
}

async function runImport(one: ImportCase, sandbox: Sandbox, real: RealStore): Promise<readonly Complaint[]> {
  const folder = join(sandbox.work, 'in');
  await writeFiles(folder, one.files);
  const foreign =
    one.format === undefined ? undefined : { format: FORMATS[one.format], options: one.options };
  const rejects = join(sandbox.work, 'rejects.ndjson');
  const quick = await readingOf({ paths: [folder], foreign });
  const careful = await readingOf({ paths: [folder], foreign, skipInvalid: rejects });
  const complaints = [
    ...quick.complaints,
    ...careful.complaints,
    ...compare('with and without rejects', quick, careful),
  ];
  if (careful.report !== undefined) complaints.push(...judgeRejects(rejects, careful.report));
  complaints.push(...(await streamed(one, folder, foreign)));
  if (!one.isReal) return complaints;
  const options = {
    paths: [folder],
    foreign,
    readParquet,
    skipInvalid: one.pieces % 2 === 0 ? `${rejects}.2` : undefined,
  };
  return [...complaints, ...(await importIntoRealStore(options, sandbox, real))];
}

async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(folder);
  for (const [name, text] of Object.entries(files))
    await writeFile(join(folder, name), Buffer.from(text, 'base64'));
}

/** The outcome of an import of the files. */
interface Reading {
  readonly complaints: readonly Complaint[];
  /** Absent if the import threw an error. */
  readonly report: ImportReport | undefined;
  /** The comparable part: the same for every way of reading the same files. */
  readonly seen: unknown;
}

async function readingOf(options: Omit<ImportOptions, 'store' | 'organization'>): Promise<Reading> {
  const store = openRecordingStore({ school: 7n });
  try {
    const report = await importBundle({ store, organization: 'school', readParquet, ...options });
    return { complaints: judgeOutcome(report, store), report, seen: seenOf(report, store) };
  } catch (error) {
    const complaints = [...complaintsOf(error), ...judgeNothing(store)];
    return { complaints, report: undefined, seen: error instanceof Error ? error.message : error };
  }
}

function judgeOutcome(report: ImportReport, store: RecordingStore): readonly Complaint[] {
  return report.published ? [] : judgeNothing(store);
}

function judgeNothing({ published }: RecordingStore): readonly Complaint[] {
  if (published.length === 0) return [];
  return [{ kind: 'half published', what: `${published.length} records of an import that was refused` }];
}

/** Staged records count only if there are no problems: a refused import stops staging. */
function seenOf(report: ImportReport, store: RecordingStore) {
  return {
    problems: report.problems.map(({ line, field, reason }) => [line, field, reason]),
    problemCount: report.problemCount,
    records: report.records,
    staged: report.problemCount > 0 ? [] : store.staged.map(({ kind, record }) => [kind, given(record)]),
  };
}

function given(record: object): object {
  return Object.fromEntries(
    Object.entries(record).filter(([name, value]) => value !== undefined && name !== 'raw'),
  );
}

function compare(how: string, one: Reading, other: Reading): readonly Complaint[] {
  if (isDeepStrictEqual(one.seen, other.seen)) return [];
  return [{ kind: 'readings differ', what: `${how}: ${firstDifference(one.seen, other.seen)}` }];
}

function firstDifference(one: unknown, other: unknown): string {
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null) {
    return `${written(one)} / ${written(other)}`;
  }
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  for (const name of names) {
    const [value, counterpart] = [Reflect.get(one, name), Reflect.get(other, name)];
    if (!isDeepStrictEqual(value, counterpart)) return `${name}: ${firstDifference(value, counterpart)}`;
  }
  return 'order';
}

function written(value: unknown): string {
  const text =
    typeof value === 'bigint'
      ? `${value}n`
      : (JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? `${one}n` : one)) ?? 'undefined');
  return text.slice(0, 120);
}

/** Checks that each invalid record is in the file of rejects, as JSON. */
function judgeRejects(path: string, report: ImportReport): readonly Complaint[] {
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  if (lines.length !== report.rejected || lines.length !== report.problemCount) {
    return [
      { kind: 'readings differ', what: `${lines.length} rejects written, ${report.problemCount} reported` },
    ];
  }
  for (const line of lines) JSON.parse(line);
  return [];
}

/**
 * Reads one of the files as a stream in chunks of any length, and compares the records with those
 * of the same file from the disk.
 */
async function streamed(
  { files, pieces, format }: ImportCase,
  folder: string,
  foreign: ImportOptions['foreign'],
): Promise<readonly Complaint[]> {
  const names = Object.keys(files);
  const name = names[pieces % names.length] ?? '';
  const bytes = Buffer.from(files[name] ?? '', 'base64');
  const kind = RECORD_KINDS.find((one) => name.startsWith(one));
  const isReadTwice = foreign?.format.open(foreign.options, plainDerivation).survey !== undefined;
  // Parquet is always written to a file first, however it arrives.
  const isParquet = bytes.subarray(0, 4).equals(Buffer.from('PAR1'));
  if (isReadTwice || isParquet || (kind === undefined && format === undefined)) return [];
  const path = join(folder, name);
  const form = await formOf(path, foreign, kind);
  if (form === undefined) return [];
  const options = { foreign, as: kind };
  const file = await readingOf({ ...options, paths: [path] });
  const stdin = Readable.from(cut(bytes, makeRandom(pieces)), { objectMode: false });
  const stream = await readingOf({ ...options, paths: ['-'], stdin, stdinName: path, stdinForm: form });
  // The readable part of broken compressed data depends on where the chunks are split.
  const isBroken = (reading: Reading) =>
    /broken or cut short/.test(JSON.stringify(reading.report?.problems ?? ''));
  const differences = isBroken(file) && isBroken(stream) ? [] : compare('a file and a stream', file, stream);
  return [...stream.complaints, ...differences];
}

async function formOf(path: string, foreign: ImportOptions['foreign'], kind: ImportOptions['as']) {
  const found = await findBundle([path], kind, foreign?.format).catch(() => undefined);
  return found?.inputs[0]?.form;
}

function* cut(bytes: Buffer, random: Random): Generator<Buffer> {
  const longest = random.pick([3, 100, 5_000, 70_000]);
  for (let at = 0; at < bytes.length; ) {
    const length = Math.max(1 + random.below(longest), Math.ceil(bytes.length / 2_000));
    yield bytes.subarray(at, at + length);
    at += length;
  }
}
