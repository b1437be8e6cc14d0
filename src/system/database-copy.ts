/**
 * A copy of a SQLite file in a folder that can only be read: SQLite cannot open a file with a log
 * there, and a file of an earlier version of Corkboard must be changed before it can be read. The
 * copy is private to this process, and is replaced when the original has changed: a different
 * machine or process may be able to write to it (decision 64).
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import { AppError } from '../domain/app-error.ts';
import { isMissing } from './file-errors.ts';
import { openTemporaryFolder, removeFoldersOnSignals, type TemporaryFolder } from './temporary-folder.ts';

/** The file, and its logs of changes. */
const ENDINGS = ['', '-wal', '-journal'] as const;
const ATTEMPTS = 10;
/** So a revoked key is refused within a second here, too. */
const LOOK_MS = 500;
/** Changes within this time may have the same timestamp. */
const SETTLED_MS = 1_000;

export class DatabaseCopy implements Disposable {
  readonly database: DatabaseSync;
  readonly #path: string;
  readonly #folder: TemporaryFolder;
  /** Of the original. Absent if it changed just before it was copied. */
  readonly #state: string | undefined;
  #lookAtMs = performance.now() + LOOK_MS;

  /** If there is no file, the copy is empty. Throws the errors of the file system. */
  constructor(path: string) {
    removeFoldersOnSignals();
    const { text, changedMs } = stateOf(path);
    const parts = readParts(path);
    this.#path = path;
    this.#state = Date.now() - changedMs < SETTLED_MS ? undefined : text;
    this.#folder = openTemporaryFolder();
    try {
      const copy = join(this.#folder.path, basename(path));
      for (const [ending, bytes] of parts) writeFileSync(`${copy}${ending}`, bytes, { mode: 0o600 });
      this.database = new DatabaseSync(copy);
      this.database.exec('PRAGMA synchronous = OFF');
    } catch (error) {
      this.#folder[Symbol.dispose]();
      throw error;
    }
  }

  readonly version = () => this.database;

  /** Whether the original has changed. Looks at it twice a second at most. */
  isOutdated(): boolean {
    if (performance.now() < this.#lookAtMs) return false;
    this.#lookAtMs = performance.now() + LOOK_MS;
    return stateOf(this.#path).text !== this.#state;
  }

  [Symbol.dispose](): void {
    this.database.close();
    this.#folder[Symbol.dispose]();
  }
}

function stateOf(path: string): { readonly text: string; readonly changedMs: number } {
  const found = ENDINGS.map((ending) =>
    statSync(`${path}${ending}`, { bigint: true, throwIfNoEntry: false }),
  );
  const text = found.map((one) => one && `${one.ino} ${one.size} ${one.mtimeNs} ${one.ctimeNs}`).join();
  return { text, changedMs: Math.max(...found.map((one) => Number(one?.ctimeMs ?? 0n))) };
}

/** Reads everything until it is the same twice, so that no part is older than another. */
function readParts(path: string): ReadonlyMap<string, Buffer> {
  let before = partsOf(path);
  for (let attempt = 1; attempt < ATTEMPTS; attempt += 1) {
    const parts = partsOf(path);
    if (isDeepStrictEqual(parts, before)) return parts;
    before = parts;
  }
  throw new AppError(
    'data-unreadable',
    `${basename(path)} is in a folder that can only be read here, and is changing elsewhere. Try again.`,
  );
}

/** By ending. The log first: a later checkpoint then changes nothing that the log does not have. */
function partsOf(path: string): ReadonlyMap<string, Buffer> {
  const parts = new Map<string, Buffer>();
  for (const ending of ENDINGS.toReversed()) {
    try {
      parts.set(ending, readFileSync(`${path}${ending}`));
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return parts;
}
