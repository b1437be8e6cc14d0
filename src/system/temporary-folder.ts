/**
 * Folders for the files of one command, in the system's folder for temporary files. They are
 * deleted when the command ends, or when a signal ends the process. Folders of processes that were
 * killed are deleted when the next folder is created.
 */
import { lstatSync, mkdtempSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const PREFIX = 'corkboard-import-';
/**
 * Held while the folder is in use: SQLite's own lock on an empty file. It ends with the process.
 */
const LOCK = 'lock';
/**
 * A folder without a lock that is older than this was left by a process that was killed while
 * creating it.
 */
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
  for (;;) {
    const path = mkdtempSync(join(tmpdir(), PREFIX));
    const lock = tryLock(path);
    // Another process took it for a leftover and is deleting it.
    if (lock === undefined) continue;
    inUse.add(path);
    return {
      path,
      [Symbol.dispose]() {
        lock.close();
        rmSync(path, { recursive: true, force: true });
        inUse.delete(path);
      },
    };
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
    if (!name.startsWith(PREFIX)) continue;
    try {
      removeLeftover(join(tmpdir(), name));
    } catch {
      // A different process is deleting it at the same time.
    }
  }
}

function removeLeftover(path: string): void {
  const folder = lstatSync(path);
  // Other users can write to this folder; they could also create a link with such a name.
  if (!folder.isDirectory() || folder.uid !== (process.getuid?.() ?? folder.uid)) return;
  if (lstatSync(join(path, LOCK), { throwIfNoEntry: false }) === undefined) {
    if (Date.now() - folder.mtimeMs > UNFINISHED_MS) rmdirSync(path);
    return;
  }
  const lock = tryLock(path);
  if (lock === undefined) return;
  lock.close();
  rmSync(path, { recursive: true, force: true });
}

/** Takes the lock of a folder; absent when a different process holds it. */
function tryLock(path: string): DatabaseSync | undefined {
  const database = new DatabaseSync(join(path, LOCK), { timeout: 0 });
  try {
    database.exec('BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database.close();
    if (error instanceof Error && /locked|unable to open/.test(error.message)) return undefined;
    throw error;
  }
}
