/**
 * The folders of the organizations in a data folder: `organizations/<name>`, where no name can
 * collide with a file of the data folder itself (decision 61). Earlier versions kept them beside
 * those files, as `<name>`; such folders are moved when the data folder is opened.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AppError } from '../domain/app-error.ts';

const ORGANIZATIONS = 'organizations';
/** No name of an organization begins with a full stop. */
const LOCK = '.layout.lock';
const LOCK_TIMEOUT_MS = 60_000;

/**
 * What SQLite makes in the data folder. A folder with such a name belongs to an organization and is
 * in its way.
 */
const DATABASE_FILE = /^(?:catalog|keys)\.db(?:-(?:wal|shm|journal))?$/i;
const VERSION = /^\d+\.duckdb$/;

export function organizationFolder(dataFolder: string, name: string): string {
  return join(dataFolder, ORGANIZATIONS, name);
}

/**
 * Moves the folders that earlier versions have left beside the files of the data folder. To be
 * called before SQLite opens one of those files. A process that is killed leaves whole folders, in
 * one place or the other, and the next call moves the rest; processes that start together wait for
 * one another. Throws `data-unreadable` when an organization has versions in both places.
 */
export function moveOrganizations(dataFolder: string): void {
  if (!isToMove(dataFolder)) return;
  const lock = new DatabaseSync(join(dataFolder, LOCK), { timeout: LOCK_TIMEOUT_MS });
  try {
    lock.exec('BEGIN EXCLUSIVE');
    const container = join(dataFolder, ORGANIZATIONS);
    mkdirSync(container, { recursive: true, mode: 0o700 });
    // First: another organization may have the name of one of the two things that are in its way
    // here.
    if (isOrganization(container)) moveOutOfContainer(container);
    for (const name of misplaced(dataFolder)) move(join(dataFolder, name), join(container, name), name);
    for (const folder of [container, dataFolder]) synchronize(folder);
  } finally {
    lock.close();
  }
}

function isToMove(dataFolder: string): boolean {
  return isOrganization(join(dataFolder, ORGANIZATIONS)) || misplaced(dataFolder).length > 0;
}

/** Names of folders of organizations that lie beside the files of the data folder. */
function misplaced(dataFolder: string): readonly string[] {
  return namesIn(dataFolder).filter((name) => {
    const folder = join(dataFolder, name);
    if (name === ORGANIZATIONS || name.startsWith('.')) return false;
    try {
      return statSync(folder).isDirectory() && (DATABASE_FILE.test(name) || isOrganization(folder));
    } catch (error) {
      // Removed meanwhile, or a folder of somebody else, like the `lost+found` of a file system.
      if (hasCode(error, 'ENOENT', 'EACCES')) return false;
      throw error;
    }
  });
}

/** Whether a folder holds what a publication makes, as nothing else does. */
function isOrganization(folder: string): boolean {
  const lock = statSync(join(folder, 'publication.lock'), { throwIfNoEntry: false });
  return lock?.isFile() === true || hasVersions(folder);
}

function hasVersions(folder: string): boolean {
  return namesIn(join(folder, 'generations')).some((name) => VERSION.test(name));
}

/**
 * An organization that is itself called `organizations` has its files where the others are to have
 * their folders. The lock comes last: as long as it is there, there is something to move.
 */
function moveOutOfContainer(container: string): void {
  const own = join(container, ORGANIZATIONS);
  mkdirSync(own, { recursive: true, mode: 0o700 });
  for (const part of ['generations', 'publication.lock']) {
    const from = join(container, part);
    // An organization may have this name, too.
    if (existsSync(from) && !isOrganization(from)) renameSync(from, join(own, part));
  }
}

function move(from: string, to: string, name: string): void {
  if (existsSync(to)) {
    if (!hasVersions(from)) {
      rmSync(from, { recursive: true });
      return;
    }
    if (hasVersions(to) || !(isOrganization(to) || namesIn(to).length === 0)) throw isTwice(name);
    rmSync(to, { recursive: true });
  }
  renameSync(from, to);
}

function isTwice(name: string): AppError {
  return new AppError(
    'data-unreadable',
    `The data folder contains the organization "${name}" twice, as "${name}" and as "${ORGANIZATIONS}/${name}". Move the outdated one elsewhere.`,
  );
}

/** None where there is no folder, or no longer one. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}

function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

function synchronize(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
