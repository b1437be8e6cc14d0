/** The files of a copy in a folder (decision 96), where new ones are renamed. */
import { existsSync, statSync } from 'node:fs';
import { chmod, chown, mkdir, open, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AppError } from '../../domain/app-error.ts';
import { hasCode, isMissing } from '../../system/file-errors.ts';
import { readIfExists } from '../../system/if-exists.ts';
import { makeFolder } from '../../system/make-folder.ts';
import { synchronize } from '../../system/synchronize.ts';
import { writeWhole } from '../../system/write-whole.ts';
import {
  CHANGE_FILE,
  type CopyFiles,
  EVENTS_FOLDER,
  type FilesChange,
  LIST_NAMES,
  lacksFile,
  lostFiles,
  OWN_FOLDER,
  pathOf,
  renderJsonFile,
  STATE_FILE,
} from './copy-files.ts';
import {
  type CopyFileName,
  type FilesState,
  type RecordedChange,
  readChange,
  readState,
  renderChange,
  renderState,
} from './files-state.ts';
import { refusedBy } from './sql.ts';

/** Of those of the folder, what its files and the folders inside get. The latter keep setgid. */
const FILE_MODE = 0o644;
const FOLDER_MODE = 0o2755;

export class CopyFolder implements CopyFiles {
  readonly #path: string;
  readonly #own: string;
  /** What is in it belongs to the run that has the lock. */
  readonly unfinished: string;
  /** Whether a change is written down that is not yet made. */
  #isRecorded = false;

  private constructor(path: string) {
    this.#path = path;
    this.#own = join(path, OWN_FOLDER);
    this.unfinished = join(this.#own, 'unfinished');
  }

  /** Creates the folder if it does not exist. `path` is absolute. Throws `copy-refused`. */
  static async open(path: string): Promise<CopyFolder> {
    const folder = new CopyFolder(path);
    try {
      refuseOtherFiles(path);
      makeFolder(folder.#own);
      return folder;
    } catch (error) {
      throw refusedBy('Cannot use the folder', error);
    }
  }

  #file(name: CopyFileName): string {
    return join(this.#path, pathOf(name));
  }

  async readable(names: readonly CopyFileName[]): Promise<readonly string[]> {
    return names.map((name) => this.#file(name));
  }

  nextFile(name: CopyFileName): string {
    return join(this.unfinished, `${name}.next`);
  }

  async lock(): Promise<() => Promise<void>> {
    let lock: DatabaseSync | undefined;
    try {
      // The operating system releases the lock whenever the process ends.
      lock = new DatabaseSync(join(this.#own, 'lock'));
      lock.exec('BEGIN EXCLUSIVE');
    } catch (error) {
      lock?.close();
      throw refusedBy('Cannot lock the folder', error);
    }
    return async () => lock.close();
  }

  async begin(): Promise<FilesState | undefined> {
    const text = await readIfExists(this.#changeFile);
    if (text !== undefined) {
      if (!existsSync(this.unfinished)) throw lostFiles();
      await this.#complete(readChange(`${text}`));
    }
    await rm(this.unfinished, { recursive: true, force: true });
    await mkdir(this.unfinished, { mode: 0o700 });
    const stored = await readIfExists(join(this.#path, STATE_FILE));
    const state = stored === undefined ? undefined : readState(`${stored}`);
    this.#checkFileSystem(state?.months ?? []);
    if (state !== undefined) this.#checkFiles(state);
    return state;
  }

  async change(change: FilesChange): Promise<void> {
    const written = new Map<CopyFileName, number>();
    for (const name of change.written) {
      await this.#adoptPermissions(this.nextFile(name), FILE_MODE);
      await synchronize(this.nextFile(name));
      written.set(name, (await stat(this.nextFile(name))).size);
    }
    await synchronize(this.unfinished);
    await this.#prepareJson(renderChange({ ...change, written }));
    this.#isRecorded = true;
    await this.#placeJson(this.#changeFile);
    await this.#complete({ ...change, written });
  }

  async end(): Promise<void> {
    if (this.#isRecorded) return;
    await rm(this.unfinished, { recursive: true, force: true });
  }

  #checkFiles({ lists, months }: FilesState): void {
    const lost = [...lists, ...months].find((name) => !existsSync(this.#file(name)));
    if (lost !== undefined) throw lacksFile(pathOf(lost));
    // The copy is of an earlier version, which did not write this list.
    const own = LIST_NAMES.find((name) => !lists.includes(name) && existsSync(this.#file(name)));
    if (own === undefined) return;
    throw new AppError(
      'copy-refused',
      `The folder has "${pathOf(own)}", which does not belong to the copy. Rename yours.`,
    );
  }

  /** Files are renamed, which no file system does with those of others. */
  #checkFileSystem(months: readonly CopyFileName[]): void {
    const { dev } = statSync(this.unfinished);
    const events = join(this.#path, EVENTS_FOLDER);
    const folders = [this.#path, events, ...months.map((month) => dirname(this.#file(month)))];
    const other = folders.find((folder) => (statSync(folder, { throwIfNoEntry: false })?.dev ?? dev) !== dev);
    if (other === undefined) return;
    throw new AppError(
      'copy-refused',
      `${other} and ${this.#own} must be on the same file system. Use a folder without links or mounts inside.`,
    );
  }

  get #changeFile(): string {
    return join(this.#path, CHANGE_FILE);
  }

  /** Can be repeated after each of its steps. */
  async #complete({ written, removed, state }: RecordedChange): Promise<void> {
    const folders = new Set<string>([this.#path]);
    for (const [name, bytes] of written) {
      await this.#makeFolder(dirname(this.#file(name)));
      await this.#place(name, bytes);
      folders.add(dirname(this.#file(name)));
    }
    for (const name of removed) {
      await rm(this.#file(name), { force: true });
      if (!(await removeIfEmpty(dirname(this.#file(name))))) folders.add(dirname(this.#file(name)));
    }
    const events = join(this.#path, EVENTS_FOLDER);
    if (existsSync(events)) folders.add(events);
    for (const folder of folders) await synchronize(folder);
    await this.#prepareJson(renderState(state));
    await this.#placeJson(join(this.#path, STATE_FILE));
    await rm(this.#changeFile, { force: true });
    await synchronize(this.#own);
    this.#isRecorded = false;
  }

  /** `bytes`: the size of the file. A run that was killed can have put it in place already. */
  async #place(name: CopyFileName, bytes: number): Promise<void> {
    try {
      await rename(this.nextFile(name), this.#file(name));
    } catch (error) {
      if (!isMissing(error)) throw error;
      const placed = await stat(this.#file(name)).catch(() => undefined);
      if (placed?.size !== bytes) throw lostFiles();
    }
  }

  /** A folder that exists can have permissions from before those of the copy were changed. */
  async #makeFolder(folder: string): Promise<void> {
    if (folder === this.#path) return;
    await this.#makeFolder(dirname(folder));
    makeFolder(folder);
    await this.#adoptPermissions(folder, FOLDER_MODE);
  }

  /** Those who may read the folder may read what is in it; only the owner may write. */
  async #adoptPermissions(path: string, most: number): Promise<void> {
    const { gid, mode } = await stat(this.#path);
    await chown(path, -1, gid).catch((error: unknown) => {
      // Not a group of this user.
      if (!hasCode(error, 'EPERM')) throw error;
    });
    await chmod(path, mode & most);
  }

  async #prepareJson(value: unknown): Promise<void> {
    const file = await open(this.#unfinishedJson, 'w');
    try {
      await writeWhole(file, renderJsonFile(value));
      await file.sync();
    } finally {
      await file.close();
    }
    await this.#adoptPermissions(this.#unfinishedJson, FILE_MODE);
  }

  async #placeJson(path: string): Promise<void> {
    await rename(this.#unfinishedJson, path);
    await synchronize(dirname(path));
  }

  get #unfinishedJson(): string {
    return join(this.#own, 'unfinished.json');
  }
}

/** Returns whether the folder is gone. */
async function removeIfEmpty(folder: string): Promise<boolean> {
  try {
    await rmdir(folder);
  } catch (error) {
    if (hasCode(error, 'ENOTEMPTY', 'EEXIST')) return false;
    if (!hasCode(error, 'ENOENT')) throw error;
  }
  return true;
}

/** Without the state of a copy, files of its names are the user's own. */
function refuseOtherFiles(path: string): void {
  const isCopy = [STATE_FILE, CHANGE_FILE].some((name) => existsSync(join(path, name)));
  const names = [EVENTS_FOLDER, ...LIST_NAMES.map((name) => `${name}.parquet`)];
  const foreign = names.find((name) => existsSync(join(path, name)));
  if (isCopy || foreign === undefined) return;
  throw new AppError(
    'copy-refused',
    `The folder has "${foreign}", which does not belong to a copy. Use an empty or a new folder.`,
  );
}
