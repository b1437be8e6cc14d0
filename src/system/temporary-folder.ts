/**
 * Folders for the files of one command, in the system's folder for temporary files. They are
 * deleted when the command ends, or when a signal ends the process. Folders of processes that were
 * killed are deleted when the next folder is created.
 */
import { lstatSync, mkdtempSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';

const PREFIX = 'corkboard-import-';
/** Of a folder that is not locked yet: it gets the other name with its lock. */
const NEW_PREFIX = 'corkboard-new-';
/**
 * Held while the folder is in use: SQLite's own lock on an empty file. It ends with the process.
 */
const LOCK = 'lock';
/** A folder without a lock that is older than this was left by a process that was killed. */
const UNFINISHED_MS = 60_000;
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface TemporaryFolder extends Disposable {
  /** Readable only by the owner. */
  readonly path: string;
}

const inUse = new Set<string>();
let isWatching = false;

/** The caller must dispose of it. */
export function openTemporaryFolder(): TemporaryFolder {
  removeLeftovers();
  const made = mkdtempSync(join(tmpdir(), NEW_PREFIX));
  const lock = new DatabaseSync(join(made, LOCK));
  lock.exec('BEGIN EXCLUSIVE');
  const path = join(tmpdir(), `${PREFIX}${basename(made).slice(NEW_PREFIX.length)}`);
  renameSync(made, path);
  inUse.add(path);
  return {
    path,
    [Symbol.dispose]() {
      remove(path, lock);
      inUse.delete(path);
    },
  };
}

/** Keeps the lock until the folder is gone: otherwise another process would delete it as well. */
function remove(path: string, lock: DatabaseSync): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } finally {
    lock.close();
  }
}

/**
 * After this call, a signal deletes the folders in use and then ends the process. A process that
 * handles the signal itself decides when it ends: `demo` serves after its import.
 */
export function removeFoldersOnSignals(): void {
  if (isWatching) return;
  isWatching = true;
  for (const signal of ENDING_SIGNALS) {
    process.once(signal, () => {
      for (const path of inUse) rmSync(path, { recursive: true, force: true });
      // To a handler, it would be a second signal.
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    });
  }
}

function removeLeftovers(): void {
  for (const name of readdirSync(tmpdir())) {
    const isNew = name.startsWith(NEW_PREFIX);
    if (!isNew && !name.startsWith(PREFIX)) continue;
    try {
      removeLeftover(join(tmpdir(), name), isNew);
    } catch {
      // A different process is deleting it at the same time.
    }
  }
}

function removeLeftover(path: string, isNew: boolean): void {
  const folder = lstatSync(path);
  // Other users can write to this folder; they could also create a link with such a name.
  if (!folder.isDirectory() || folder.uid !== (process.getuid?.() ?? folder.uid)) return;
  const isOld = Date.now() - folder.mtimeMs > UNFINISHED_MS;
  if (isNew) {
    if (isOld) rmSync(path, { recursive: true, force: true });
    return;
  }
  if (lstatSync(join(path, LOCK), { throwIfNoEntry: false }) === undefined) {
    if (isOld) rmdirSync(path);
    return;
  }
  // Does not create the file: its owner may have deleted it just now.
  const lock = new DatabaseSync(`${pathToFileURL(join(path, LOCK))}?mode=rw`, { timeout: 0 });
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch {
    // A different process holds it.
    lock.close();
    return;
  }
  remove(path, lock);
}
