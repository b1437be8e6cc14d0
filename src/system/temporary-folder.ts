/**
 * Folders for the files of one command, in the system's folder for temporary files: removed when
 * the command is done, or a signal ends it. Those of processes that were killed are removed with
 * the next one that is made.
 */
import { lstatSync, mkdtempSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const PREFIX = 'corkboard-import-';
/**
 * Held as long as the folder is in use: SQLite's own lock on an empty file, which ends with the
 * process.
 */
const LOCK = 'lock';
/** After this time a folder without a lock is one that a process was killed in making. */
const UNFINISHED_MS = 60_000;
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface TemporaryFolder extends Disposable {
  /** For the owner's eyes only. */
  readonly path: string;
}

const inUse = new Set<string>();
let isWatching = false;

/** The caller disposes of it. */
export function openTemporaryFolder(): TemporaryFolder {
  removeLeftovers();
  for (;;) {
    const path = mkdtempSync(join(tmpdir(), PREFIX));
    const lock = tryLock(path);
    // Another process took it for a leftover and removes it.
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
 * From now on a signal removes the folders in use before it ends the process. For commands that go
 * on at no signal.
 */
export function removeFoldersOnSignals(): void {
  if (isWatching) return;
  isWatching = true;
  for (const signal of ENDING_SIGNALS) {
    process.once(signal, () => {
      for (const path of inUse) rmSync(path, { recursive: true, force: true });
      process.kill(process.pid, signal);
    });
  }
}

function removeLeftovers(): void {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(PREFIX)) continue;
    try {
      removeLeftover(join(tmpdir(), name));
    } catch {
      // Another process removes it, too.
    }
  }
}

function removeLeftover(path: string): void {
  const folder = lstatSync(path);
  // Other users may write here, too, also a link with such a name.
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

/** The lock on a folder; absent when a process holds it. */
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
