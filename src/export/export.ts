/**
 * Exports an organization as a bundle: a folder with one file per kind of record. Importing it into
 * any Corkboard reproduces the same responses (decision 53). The folder appears when it is
 * complete.
 */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, type Transform } from 'node:stream';
import { finished } from 'node:stream/promises';
import { createGzip, createZstdCompress } from 'node:zlib';
import { AppError } from '../domain/app-error.ts';
import { RECORD_KINDS, type RecordKind } from '../store/staging.ts';
import type { VersionRows } from '../store/version-rows.ts';
import { writeNewFolder } from '../system/new-folder.ts';
import type { ExportCompression, ExportFormat } from './choices.ts';
import { onlyPersonal, type PersonalRecords } from './personal.ts';
import { type BundleRecord, FIELDS, type FieldType, VersionRecords } from './records.ts';
import { csvHeaderOf, csvOf, ndjsonOf } from './texts.ts';

/** Makes a Parquet file from lines of NDJSON with these fields. */
export type WriteParquet = (
  ndjson: string,
  parquet: string,
  fields: Readonly<Record<string, FieldType>>,
) => Promise<void>;

export interface ExportOptions {
  readonly original: VersionRows;
  /** Created by the export. Refused if it exists and is not empty. */
  readonly folder: string;
  readonly format: ExportFormat;
  /** Ignored for Parquet, which has its own compression. */
  readonly compression: ExportCompression;
  readonly writeParquet: WriteParquet;
  /** Only the records that concern this user; absent: all. */
  readonly personal?: PersonalRecords | undefined;
  /** Adds further files to the folder. */
  readonly addFiles?: ((folder: string) => Promise<void>) | undefined;
  /** Called whenever records are written. */
  readonly onRecords?: (kind: RecordKind, count: number) => void;
}

export interface ExportedFile {
  readonly name: string;
  readonly records: number;
}

const ENDINGS: Readonly<Record<ExportCompression, string>> = { none: '', gzip: '.gz', zstd: '.zst' };
const COMPRESSORS: Readonly<Record<ExportCompression, () => Transform>> = {
  none: () => new PassThrough(),
  gzip: () => createGzip(),
  zstd: () => createZstdCompress(),
};

/** Returns the files with records. Throws `option-malformed` when the folder cannot be created. */
export async function exportBundle(options: ExportOptions): Promise<readonly ExportedFile[]> {
  return await writeNewFolder(options.folder, async (folder) => {
    const files = options.original.counts === undefined ? [] : await writeFiles(folder, options);
    await writeSettings(folder, options.original);
    await options.addFiles?.(folder);
    return files;
  });
}

async function writeFiles(folder: string, options: ExportOptions): Promise<readonly ExportedFile[]> {
  const records = new VersionRecords(options.original);
  const properties = await records.properties();
  const names = new Set([...properties.values()].flatMap((of) => Object.keys(of)));
  if (options.format === 'parquet') refuseAlike(names);
  const lms = Object.fromEntries([...names].sort().map((name) => [name, 'text'] as const));
  const files: ExportedFile[] = [];
  for (const kind of RECORD_KINDS) {
    const fields = fieldsOf(kind, lms, options.original);
    const all = kind === 'users' ? records.users(properties) : records[kind]();
    const source = options.personal === undefined ? all : onlyPersonal(kind, all, options.personal);
    const file = await writeKind(folder, kind, source, fields, options);
    if (file !== undefined) files.push(file);
  }
  return files;
}

function fieldsOf(
  kind: RecordKind,
  lms: Readonly<Record<string, FieldType>>,
  { hasBodies }: VersionRows,
): Readonly<Record<string, FieldType>> {
  if (kind === 'users') return { ...FIELDS.users, ...lms };
  if (kind !== 'events' || hasBodies) return FIELDS[kind];
  // A table without it is imported faster.
  const { body: _body, ...others } = FIELDS.events;
  return others;
}

/** Parquet does not distinguish the case of column names. */
function refuseAlike(names: ReadonlySet<string>): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name.toLowerCase())) {
      throw new AppError(
        'option-malformed',
        `Two LMS properties differ only in case (${name}), which Parquet cannot represent. Use --format ndjson.`,
      );
    }
    seen.add(name.toLowerCase());
  }
}

/** Undefined if there are no records of the kind. */
async function writeKind(
  folder: string,
  kind: RecordKind,
  source: AsyncIterable<readonly BundleRecord[]>,
  fields: Readonly<Record<string, FieldType>>,
  { format, compression, writeParquet, onRecords }: ExportOptions,
): Promise<ExportedFile | undefined> {
  const isParquet = format === 'parquet';
  const written = isParquet ? 'ndjson' : format;
  const ending = isParquet ? '' : ENDINGS[compression];
  const path = join(folder, `${kind}.${written}${ending}`);
  const names = Object.keys(fields);
  let count = 0;
  async function* texts() {
    for await (const records of source) {
      if (records.length === 0) continue;
      if (count === 0 && written === 'csv') yield csvHeaderOf(names);
      count += records.length;
      onRecords?.(kind, records.length);
      yield written === 'csv' ? csvOf(records, names) : ndjsonOf(records);
    }
  }
  await writeTexts(path, texts(), isParquet ? 'none' : compression);
  if (count === 0) return await rm(path).then(() => undefined);
  if (!isParquet) return { name: `${kind}.${written}${ending}`, records: count };
  await writeParquet(path, join(folder, `${kind}.parquet`), fields);
  await rm(path);
  return { name: `${kind}.parquet`, records: count };
}

async function writeTexts(
  path: string,
  texts: AsyncIterable<string>,
  compression: ExportCompression,
): Promise<void> {
  const target = createWriteStream(path, { mode: 0o600, flush: true });
  const compressor = COMPRESSORS[compression]();
  compressor.on('error', (error) => target.destroy(error));
  compressor.pipe(target);
  const ended = finished(target);
  // Awaited below. Marks a failure before that as handled.
  ended.catch(() => undefined);
  try {
    for await (const text of texts) {
      if (!compressor.write(text)) await Promise.race([once(compressor, 'drain'), ended]);
    }
    compressor.end();
    await ended;
  } finally {
    compressor.destroy();
    target.destroy();
  }
}

/**
 * Writes the settings of the organization, which no record contains, for an import that creates it
 * again.
 */
async function writeSettings(folder: string, { entry }: VersionRows): Promise<void> {
  const { id, title, domain, categoryId, courseLookup, lmsUserProperties, userPointsKey, policy } =
    entry.settings;
  const settings = {
    ...{ name: entry.name, id: JSON.rawJSON(String(id)), title, domain },
    ...{ category_id: JSON.rawJSON(String(categoryId)), course_lookup: courseLookup },
    lms_user_properties: lmsUserProperties,
    user_points_key: userPointsKey,
  };
  await writeFile(join(folder, 'organization.json'), `${JSON.stringify(settings, null, 2)}\n`, {
    mode: 0o600,
  });
  if (policy !== '') await writeFile(join(folder, 'policy.json'), policy, { mode: 0o600 });
}
