/**
 * Finds the files of a bundle (decision 28), the kind of record in each, and their formats. Reads
 * only the names of files, never their content.
 */
import type { Dirent } from 'node:fs';
import { access, constants, readdir, realpath, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { AppError } from '../../domain/app-error.ts';
import { RECORD_KINDS, type RecordKind } from '../../store/staging.ts';
import { FORMAT_TITLES } from '../formats/choices.ts';
import type { Format as ForeignFormat } from '../formats/format.ts';
import { type FileIdentity, isReplaced, lookAt } from './found-file.ts';
import { refuseFile } from './refuse-file.ts';

type FileFormat = 'csv' | 'ndjson' | 'json' | 'parquet' | 'xml';
export type Compression = 'none' | 'gzip' | 'zstd';

/** The form of the bytes of an input. XML is read only from other software. */
export interface InputForm {
  readonly format: FileFormat;
  readonly compression: Compression;
  /** Whether rows of CSV end with only a carriage return. */
  readonly endsAtReturns?: boolean;
}

export interface Input {
  /** As the user gave it; for a file in a folder, the folder and the name of the file. */
  readonly name: string;
  /** Absent: standard input. */
  readonly path: string | undefined;
  readonly kind: RecordKind;
  /** The format of other software, whose records become events; absent for a file of a bundle. */
  readonly foreign?: ForeignFormat | undefined;
  /** The code page of CSV; absent: UTF-8. */
  readonly encoding?: string | undefined;
  /** Absent if the name does not show the form and the first bytes must be read. */
  readonly form: InputForm | undefined;
  /** Size of the file; absent if it is not a regular file. */
  readonly byteLength: number | undefined;
  /**
   * Present for a file that was found in a folder whose links are not followed: only this exact
   * file is read.
   */
  readonly identity?: FileIdentity | undefined;
}

/** How paths are treated. */
export interface PathRules {
  /** Whether symbolic links inside folders are followed. Links named by the operator always are. */
  readonly followsLinks?: boolean | undefined;
  /** Whether the folders inside folders are searched as well, at any depth. */
  readonly searchesSubfolders?: boolean | undefined;
  /** Whether the paths were found in a folder rather than named by the operator. */
  readonly areFound?: boolean | undefined;
}

export interface Bundle {
  /**
   * In the order of `RECORD_KINDS`; within a kind in the given order, and in a folder by name, with
   * numbers in names compared as numbers. The files of a subfolder are in its place.
   */
  readonly inputs: readonly Input[];
  /** Files in the given folders that contain settings of an organization. */
  readonly settings: readonly string[];
  /** Other files and folders in folders, ignored because their names show no kind of record. */
  readonly passedOver: readonly string[];
}

const SETTINGS = /^(?:organization|policy)\.json$/;

/** Represents standard input in a list of paths. */
export const STANDARD_INPUT = '-';

const NAME = new RegExp(
  `^(?<kind>${RECORD_KINDS.join('|')})(?:[-_.].*)?\\.(?<format>csv|ndjson|jsonl|json|parquet)(?:\\.(?<packed>gz|zst))?$`,
  'i',
);
const FORM = /\.(?<format>csv|ndjson|jsonl|json|parquet|xml)(?:\.(?<packed>gz|zst))?$/i;
const ARCHIVE = /\.(?:zip|7z|rar|tar|tgz|tar\.\w+)$/i;
const WORKBOOK = /\.(?:xls\w?|ods|numbers)$/i;
export const NATURAL_ORDER = new Intl.Collator('en', { numeric: true });

/**
 * Finds the inputs among files, folders (searched one level deep, unless the rules say otherwise)
 * and `-`. `as` is the kind of record in named files and on standard input; in folders, names show
 * the kind. All files whose names show a form of `foreign` are inputs in that format. Throws
 * `file-unreadable`, also for a symbolic link in a folder. Throws `option-malformed` for a path
 * that shows no kind of record, contains no input, or is given twice.
 */
export async function findBundle(
  paths: readonly string[],
  as: RecordKind | undefined,
  foreign?: ForeignFormat,
  stdinName = STANDARD_INPUT,
  { followsLinks = false, searchesSubfolders = false, areFound = false }: PathRules = {},
): Promise<Bundle> {
  const searched = { foreign, followsLinks, searchesSubfolders };
  const told = foreign === undefined ? as : 'events';
  const found: FoundFiles = { inputs: [], settings: [], passedOver: [], folders: new Set() };
  const { inputs, settings, passedOver } = found;
  for (const path of paths) {
    if (path === STANDARD_INPUT) inputs.push(standardInput(told, stdinName));
    else if (!areFound && (await entryAt(path)).isDirectory()) {
      await searchGivenFolder(path, searched, found);
    } else inputs.push(await givenFile(path, told, searched, areFound));
  }
  await refuseRepeats(inputs);
  inputs.sort((one, other) => RECORD_KINDS.indexOf(one.kind) - RECORD_KINDS.indexOf(other.kind));
  return { inputs: inputs.map((input) => ({ ...input, foreign })), settings, passedOver };
}

function standardInput(as: RecordKind | undefined, name: string): Input {
  if (as === undefined) {
    throw new AppError(
      'option-malformed',
      `Give the kind of records on standard input: --as ${RECORD_KINDS.join('|')}.`,
    );
  }
  return { name, path: undefined, kind: as, form: undefined, byteLength: undefined };
}

async function givenFile(
  path: string,
  as: RecordKind | undefined,
  searched: Searched,
  isFound: boolean,
): Promise<Input> {
  const kind = as ?? kindOf(path);
  if (kind === undefined) {
    throw new AppError(
      'option-malformed',
      adviceFor(path) ??
        `The name of ${path} does not say what kind of records it has. Name it like events.csv or events-2024.ndjson.gz, ` +
          `or give the kind: --as ${[...RECORD_KINDS, ...Object.keys(FORMAT_TITLES)].join('|')}.`,
    );
  }
  if (!isFound) return await namedInput(path, kind, searched.foreign);
  const input = await foundInput(path, kind, searched);
  if (input === undefined) throw new AppError('file-unreadable', `${path} is no longer a file.`);
  return input;
}

/**
 * Advice for a file that must be unpacked or converted first; undefined if its name shows no such
 * need.
 */
function adviceFor(path: string): string | undefined {
  if (ARCHIVE.test(path)) return `${path} is an archive. Unpack it and import the files.`;
  return WORKBOOK.test(path) ? `${path} is a workbook. Save each sheet as a CSV file (UTF-8).` : undefined;
}

interface Searched {
  readonly foreign: ForeignFormat | undefined;
  readonly followsLinks: boolean;
  readonly searchesSubfolders: boolean;
}

/** The files found so far. */
interface FoundFiles {
  readonly inputs: Input[];
  readonly settings: string[];
  readonly passedOver: string[];
  /** Paths without links of the folders searched so far. */
  readonly folders: Set<string>;
}

async function searchGivenFolder(folder: string, searched: Searched, found: FoundFiles): Promise<void> {
  const before = found.inputs.length;
  const real = await realpath(folder).catch((error: unknown) => refuseFile(folder, error));
  const entries = await searchFolder({ folder, real, isGiven: true }, searched, found);
  if (found.inputs.length === before) throw nothingIn(folder, entries, searched);
}

/** A folder that is searched. */
interface SearchedFolder {
  readonly folder: string;
  /** Its path without links. */
  readonly real: string;
  /** Whether the operator named it, rather than a folder around it. */
  readonly isGiven: boolean;
}

async function searchFolder(
  { folder, real, isGiven }: SearchedFolder,
  searched: Searched,
  found: FoundFiles,
): Promise<readonly Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) =>
    refuseFile(folder, error),
  );
  found.folders.add(real);
  for (const entry of entries.sort((one, other) => NATURAL_ORDER.compare(one.name, other.name))) {
    const { name } = entry;
    const path = join(folder, name);
    const kind = kindInFolder(name, searched.foreign);
    const realPath = isGiven ? undefined : join(real, name);
    const input = kind && (await foundInput(path, kind, searched, realPath));
    if (input !== undefined) found.inputs.push(input);
    else if (searched.searchesSubfolders && (await isSubfolder(path, entry, searched))) {
      await searchFolder(await subfolderAt(path, real, searched, found), searched, found);
    } else if (isGiven && SETTINGS.test(name)) found.settings.push(path);
    else found.passedOver.push(path);
  }
  return entries;
}

/**
 * Hidden folders belong to tools, such as `.git`. Throws `file-unreadable` for a link to a folder,
 * unless links are followed.
 */
async function isSubfolder(path: string, entry: Dirent, { followsLinks }: Searched): Promise<boolean> {
  if (entry.name.startsWith('.')) return false;
  if (!entry.isSymbolicLink()) return entry.isDirectory();
  const target = await stat(path).catch(() => undefined);
  return target?.isDirectory() === true && (await lookAt(path, followsLinks)) === 'folder';
}

/**
 * Throws `file-unreadable` when a link has replaced the folder. Throws `option-malformed` when the
 * folder has been searched, which a link to a folder around it would repeat without end.
 */
async function subfolderAt(
  path: string,
  around: string,
  { followsLinks }: Searched,
  { folders }: FoundFiles,
): Promise<SearchedFolder> {
  const real = await realpath(path).catch((error: unknown) => refuseFile(path, error));
  if (!followsLinks && real !== join(around, basename(path))) throw isReplaced(path);
  if (folders.has(real)) {
    throw new AppError(
      'option-malformed',
      `${path} leads to a folder that is read already. Name every folder once, and remove links to it.`,
    );
  }
  return { folder: path, real, isGiven: false };
}

function nothingIn(
  folder: string,
  entries: readonly Dirent[],
  { foreign, searchesSubfolders }: Searched,
): AppError {
  const archive = entries
    .map(({ name }) => adviceFor(join(folder, name)))
    .find((advice) => advice !== undefined);
  const reason =
    !searchesSubfolders && entries.length > 0 && entries.every((entry) => entry.isDirectory())
      ? `The folder ${folder} contains only folders, which are searched only with --subfolders. Give it, or their paths instead, like ${join(folder, entries[0]!.name)}.`
      : (archive ??
        (foreign === undefined
          ? `The folder ${folder} has no file named by its kind of records, like users.csv or events-2024.ndjson.gz. ` +
            `For files of other software, give the format: --as ${Object.keys(FORMAT_TITLES).join('|')}.`
          : `The folder ${folder} has no file of ${foreign.name}: ${FORMAT_TITLES[foreign.name]}.`));
  return new AppError('option-malformed', reason);
}

/** The kind of record in a file of a folder, by its name; undefined for a file that is ignored. */
export function kindInFolder(name: string, foreign: ForeignFormat | undefined): RecordKind | undefined {
  if (foreign === undefined) return kindOf(name);
  const { files, forms } = foreign;
  const isOwn = formOf(name, forms.includes('xml')) !== undefined && (files?.test(name) ?? true);
  return isOwn ? 'events' : undefined;
}

async function namedInput(
  path: string,
  kind: RecordKind,
  foreign: ForeignFormat | undefined,
): Promise<Input> {
  const entry = await entryAt(path);
  await access(path, constants.R_OK).catch((error: unknown) => refuseFile(path, error));
  const form = formOf(path, foreign?.forms.includes('xml') ?? false);
  return { name: path, path, kind, form, byteLength: entry.isFile() ? entry.size : undefined };
}

/** Undefined for a folder, and for a file that no longer exists. */
async function foundInput(
  path: string,
  kind: RecordKind,
  { foreign, followsLinks }: Searched,
  realPath?: string,
): Promise<Input | undefined> {
  const found = await lookAt(path, followsLinks);
  if (found === 'folder' || found === 'none') return undefined;
  await access(path, constants.R_OK).catch((error: unknown) => refuseFile(path, error));
  const form = formOf(path, foreign?.forms.includes('xml') ?? false);
  const identity = followsLinks ? undefined : { ...found.identity, realPath };
  return { name: path, path, kind, form, byteLength: found.size, identity };
}

function kindOf(path: string): RecordKind | undefined {
  const kind = NAME.exec(basename(path))?.groups?.['kind']?.toLowerCase();
  return RECORD_KINDS.find((known) => known === kind);
}

function formOf(path: string, mayBeXml: boolean): InputForm | undefined {
  const { format, packed } = FORM.exec(path.toLowerCase())?.groups ?? {};
  if (format === 'xml' && !mayBeXml) return undefined;
  const compression = packed === undefined ? 'none' : packed === 'gz' ? 'gzip' : 'zstd';
  // Without a format in the name, the form is determined by the first bytes.
  if (format === undefined) return undefined;
  // The pattern accepts only the names of formats.
  return { format: format === 'jsonl' ? 'ndjson' : (format as FileFormat), compression };
}

async function entryAt(path: string) {
  return await stat(path).catch((error: unknown) => refuseFile(path, error));
}

/**
 * Importing a file twice would count its events twice: of two equal records, the second is a second
 * event (decision 29).
 */
async function refuseRepeats(inputs: readonly Input[]): Promise<void> {
  const seen = new Set<string>();
  for (const { name, path } of inputs) {
    const real = path === undefined ? STANDARD_INPUT : await realpath(path).catch(() => path);
    if (seen.has(real))
      throw new AppError('option-malformed', `${name} is given twice; name every file once.`);
    seen.add(real);
  }
}
