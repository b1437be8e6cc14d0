/**
 * The folders of the organizations in a data folder: `organizations/<name>`, so that no name can
 * collide with a file of the data folder itself (decision 61). Earlier versions of Corkboard kept
 * them as `<name>`, next to those files. Such folders are moved when the data folder is opened.
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
import { hasCode, isMissing } from './file-errors.ts';

const ORGANIZATIONS = 'organizations';
/**
 * The name of an organization never begins with a full stop, so it cannot collide with this file.
 */
const LOCK = '.layout.lock';
const LOCK_TIMEOUT_MS = 60_000;

/**
 * The files that SQLite creates in the data folder. A folder with such a name belongs to an
 * organization and blocks the file.
 */
const DATABASE_FILE = /^(?:catalog|keys)\.db(?:-(?:wal|shm|journal))?$/i;
const VERSION = /^\d+\.duckdb$/;

export function organizationFolder(dataFolder: string, name: string): string {
  return join(dataFolder, ORGANIZATIONS, name);
}

/**
 * Moves the folders that earlier versions of Corkboard left next to the files of the data folder.
 * Must be called before SQLite opens one of those files. If the process is killed, every folder is
 * still complete, in its old or its new place; the next call moves the rest. Processes that start
 * at the same time wait for each other. Throws `data-unreadable` when an organization has versions
 * in both places.
 */
export function moveOrganizations(dataFolder: string): void {
  if (!isToMove(dataFolder)) return;
  const lock = new DatabaseSync(join(dataFolder, LOCK), { timeout: LOCK_TIMEOUT_MS });
  try {
    lock.exec('BEGIN EXCLUSIVE');
    const container = join(dataFolder, ORGANIZATIONS);
    mkdirSync(container, { recursive: true, mode: 0o700 });
    // This comes first: an organization may be named like one of the two entries that it moves.
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

/** Names of organization folders next to the files of the data folder. */
function misplaced(dataFolder: string): readonly string[] {
  return namesIn(dataFolder).filter((name) => {
    const folder = join(dataFolder, name);
    if (name === ORGANIZATIONS || name.startsWith('.')) return false;
    try {
      return statSync(folder).isDirectory() && (DATABASE_FILE.test(name) || isOrganization(folder));
    } catch (error) {
      // Deleted in the meantime, or not readable, such as the `lost+found` folder of a file system.
      if (hasCode(error, 'ENOENT', 'EACCES')) return false;
      throw error;
    }
  });
}

/** Whether a folder contains an entry that only a publication creates. */
function isOrganization(folder: string): boolean {
  const lock = statSync(join(folder, 'publication.lock'), { throwIfNoEntry: false });
  return lock?.isFile() === true || hasVersions(folder);
}

function hasVersions(folder: string): boolean {
  return namesIn(join(folder, 'generations')).some((name) => VERSION.test(name));
}

/**
 * The files of an organization that is itself named `organizations` are where the folders of the
 * others belong. The lock file is moved last: while it is there, the move is not complete.
 */
function moveOutOfContainer(container: string): void {
  const own = join(container, ORGANIZATIONS);
  mkdirSync(own, { recursive: true, mode: 0o700 });
  for (const part of ['generations', 'publication.lock']) {
    const from = join(container, part);
    // The entry may itself be the folder of an organization with this name.
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

/** Empty if the folder does not exist, or is not a folder. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function synchronize(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
