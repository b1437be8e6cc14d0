/**
 * A backup: a data folder with the current version of each organization, `backup.json`, which
 * describes it, and `SHA256SUMS` with the digests of all other files, written last.
 */
import { open, readdir, readFile, rm } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { AppError } from '../domain/app-error.ts';
import { digestFile, readDigests, renderDigests } from '../system/file-digest.ts';
import { writeNewFolder } from '../system/new-folder.ts';
import { BACKUP_FILES } from '../system/read-only.ts';

const { description: ABOUT, digests: DIGESTS } = BACKUP_FILES;
const LOCK = 'publication.lock';
/** Increment on every change that earlier versions of Corkboard cannot read. */
const FORMAT = 1;

/** The content of `backup.json`. */
export interface BackupDescription {
  readonly format: number;
  /** Version of Corkboard. */
  readonly corkboard: string;
  /** Instants in ISO 8601. Changes after `begun` may be missing. */
  readonly begun: string;
  readonly ended: string;
  readonly source: 'data folder' | 'database';
  readonly organizations: readonly {
    readonly organization: string;
    readonly version: string | null;
    readonly [count: string]: unknown;
  }[];
}

/**
 * Writes a backup, which appears when it is complete. `fill` writes the data folder. Throws
 * `option-malformed` if the folder exists and is not empty.
 */
export async function writeBackup(
  folder: string,
  fill: (dataFolder: string) => Promise<Omit<BackupDescription, 'format'>>,
): Promise<BackupDescription> {
  return await writeNewFolder(folder, async (unfinished) => {
    const description = { format: FORMAT, ...(await fill(unfinished)) };
    await writeDurably(join(unfinished, ABOUT), `${JSON.stringify(description, null, 2)}\n`);
    for (const path of await pathsIn(unfinished)) {
      // Empty files, by which imports of the unfinished folder were kept out.
      if (path.endsWith(`/${LOCK}`)) await rm(join(unfinished, path));
    }
    const digests = new Map<string, string>();
    for (const path of await pathsIn(unfinished)) {
      digests.set(path, (await digestFile(join(unfinished, path))).sha256);
    }
    await writeDurably(join(unfinished, DIGESTS), renderDigests(digests));
    return description;
  });
}

/** Throws `data-unreadable` if the folder is no complete backup of a known format. */
export async function readDescription(folder: string): Promise<BackupDescription> {
  await readRecorded(folder);
  const description = await readAbout(join(folder, ABOUT));
  if (description?.format === FORMAT) return description;
  throw new AppError(
    'data-unreadable',
    typeof description?.format === 'number'
      ? `The backup ${folder} was made by a newer Corkboard. Use that version.`
      : `The file ${join(folder, ABOUT)} is damaged. Use a different backup.`,
  );
}

/** Undefined if it cannot be read. */
async function readAbout(path: string): Promise<BackupDescription | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/**
 * Compares all files with their digests. Returns what is wrong, one line each. Throws
 * `data-unreadable` if the folder is no complete backup.
 */
export async function verifyBackup(
  folder: string,
  onBytes: (bytes: number) => void,
): Promise<readonly string[]> {
  const recorded = await readRecorded(folder);
  const problems: string[] = [];
  const present = new Set(await pathsIn(folder));
  for (const [path, digest] of recorded) {
    if (!present.delete(path)) problems.push(`${path} is missing`);
    else if ((await digestFile(join(folder, path), onBytes)).sha256 !== digest) {
      problems.push(`${path} has changed since the backup was made`);
    }
  }
  present.delete(DIGESTS);
  for (const path of present) problems.push(`${path} is not part of the backup`);
  return problems;
}

async function readRecorded(folder: string): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(join(folder, DIGESTS), 'utf8').catch(() => undefined);
  if (text === undefined) {
    throw new AppError(
      'data-unreadable',
      `There is no complete backup in ${folder}: it has no readable file ${DIGESTS}.`,
    );
  }
  const digests = readDigests(text);
  if (digests?.has(ABOUT)) return digests;
  throw new AppError(
    'data-unreadable',
    `The file ${join(folder, DIGESTS)} is damaged. Use a different backup.`,
  );
}

/** Paths of all files, ascending, with `/`. */
async function pathsIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
    .sort();
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}
