/**
 * The files of a copy in a folder (decision 96). New files are complete before the first one is
 * renamed, and what is to be renamed and deleted is written down before. So a run that is killed
 * has changed nothing, or the next one completes it.
 */
import { existsSync } from 'node:fs';
import { chmod, mkdir, open, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AppError } from '../../domain/app-error.ts';
import { hasCode } from '../../system/file-errors.ts';
import { readIfExists } from '../../system/if-exists.ts';
import { synchronize } from '../../system/synchronize.ts';
import { writeWhole } from '../../system/write-whole.ts';
import type { CopyState } from '../copy-target.ts';
import { BOARDS, USERS } from '../tables.ts';
import { refusedBy } from './sql.ts';

/** Written last, and only when it changes. */
const STATE_FILE = 'corkboard_sync.json';
const EVENTS_FOLDER = 'events';
/** Programs that look for Parquet files ignore folders whose name begins with a dot. */
const OWN_FOLDER = '.corkboard';
const LISTS: readonly string[] = [USERS.name, BOARDS.name];
const FORMAT = 1;
const MONTH = /^\d{4}-\d{2}$/;

/** `users`, `boards`, or the month of events, like `2018-03`. */
export type CopyFileName = string;

export interface FolderState extends CopyState {
  /** Those with events. */
  readonly months: readonly string[];
}

export interface FolderChange {
  /** Complete at `nextFile`. */
  readonly written: readonly CopyFileName[];
  readonly removed: readonly CopyFileName[];
  readonly state: FolderState;
}

export class CopyFolder {
  readonly #path: string;
  readonly #own: string;
  /** What is in it belongs to the run that has the lock. */
  readonly unfinished: string;

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
      await mkdir(folder.#own, { recursive: true, mode: 0o700 });
      return folder;
    } catch (error) {
      throw refusedBy('Cannot use the folder', error);
    }
  }

  file(name: CopyFileName): string {
    if (LISTS.includes(name)) return join(this.#path, `${name}.parquet`);
    if (MONTH.test(name)) return join(this.#path, EVENTS_FOLDER, `month=${name}`, 'events.parquet');
    throw damaged();
  }

  /** Where the new content of a file is written. */
  nextFile(name: CopyFileName): string {
    return join(this.unfinished, `${name}.next`);
  }

  /** Returns the function that releases the lock. Throws `copy-refused` if a run has it. */
  lock(): () => void {
    // The operating system releases the lock whenever the process ends.
    const lock = new DatabaseSync(join(this.#own, 'lock'));
    try {
      lock.exec('BEGIN EXCLUSIVE');
    } catch (error) {
      lock.close();
      throw refusedBy('Cannot lock the folder: a different run may be using it', error);
    }
    return () => lock.close();
  }

  /**
   * Completes or undoes a run that was killed, and makes an empty folder for unfinished files.
   * Returns the state after the last completed run. Requires the lock.
   */
  async begin(): Promise<FolderState | undefined> {
    const text = await readIfExists(this.#changeFile);
    if (text !== undefined) await this.#complete(readChange(`${text}`));
    await rm(this.unfinished, { recursive: true, force: true });
    await mkdir(this.unfinished, { mode: 0o700 });
    const stored = await readIfExists(join(this.#path, STATE_FILE));
    if (stored === undefined) return undefined;
    const state = readState(parsed(`${stored}`));
    this.#checkFiles(state);
    return state;
  }

  /** Puts the new files in place. Requires the lock. */
  async change(change: FolderChange): Promise<void> {
    for (const name of change.written) {
      await this.#adoptMode(this.nextFile(name), 0o666);
      await synchronize(this.nextFile(name));
    }
    await synchronize(this.unfinished);
    await this.#writeJson(this.#changeFile, renderChange(change));
    await this.#complete(change);
  }

  /** Removes what is unfinished, unless the next run is to complete it. Requires the lock. */
  async end(): Promise<void> {
    if (existsSync(this.#changeFile)) return;
    await rm(this.unfinished, { recursive: true, force: true });
  }

  #checkFiles({ months }: FolderState): void {
    const lost = [...LISTS, ...months].map((name) => this.file(name)).find((path) => !existsSync(path));
    if (lost === undefined) return;
    throw new AppError(
      'copy-refused',
      `The copy lacks the file ${relative(this.#path, lost)}. Use an empty or a new folder.`,
    );
  }

  get #changeFile(): string {
    return join(this.#own, 'change.json');
  }

  /** Can be repeated after each of its steps. */
  async #complete({ written, removed, state }: FolderChange): Promise<void> {
    const folders = new Set<string>([this.#path]);
    for (const name of written) {
      const folder = dirname(this.file(name));
      await this.#makeFolder(folder);
      if (existsSync(this.nextFile(name))) await rename(this.nextFile(name), this.file(name));
      folders.add(folder);
    }
    for (const name of removed) {
      await rm(this.file(name), { force: true });
      await rmdir(dirname(this.file(name))).catch((error: unknown) => {
        if (!hasCode(error, 'ENOENT', 'ENOTEMPTY', 'EEXIST')) throw error;
      });
    }
    const events = join(this.#path, EVENTS_FOLDER);
    if (existsSync(events)) folders.add(events);
    for (const folder of folders) await synchronize(folder);
    await this.#writeJson(join(this.#path, STATE_FILE), renderState(state));
    await rm(this.#changeFile, { force: true });
    await synchronize(this.#own);
  }

  async #makeFolder(folder: string): Promise<void> {
    if (existsSync(folder)) return;
    await this.#makeFolder(dirname(folder));
    await mkdir(folder);
    await this.#adoptMode(folder, 0o777);
  }

  /** Those who may read the folder may read what is in it. */
  async #adoptMode(path: string, most: number): Promise<void> {
    await chmod(path, (await stat(this.#path)).mode & most);
  }

  async #writeJson(path: string, value: unknown): Promise<void> {
    const unfinished = join(this.#own, 'unfinished.json');
    const file = await open(unfinished, 'w');
    try {
      await writeWhole(file, Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`));
      await file.sync();
    } finally {
      await file.close();
    }
    await this.#adoptMode(unfinished, 0o666);
    await rename(unfinished, path);
    await synchronize(dirname(path));
  }
}

/** Without the state of a copy, files of its names are the user's own. */
function refuseOtherFiles(path: string): void {
  const isCopy = [STATE_FILE, join(OWN_FOLDER, 'change.json')].some((name) => existsSync(join(path, name)));
  const names = [EVENTS_FOLDER, ...LISTS.map((name) => `${name}.parquet`)];
  const foreign = names.find((name) => existsSync(join(path, name)));
  if (isCopy || foreign === undefined) return;
  throw new AppError(
    'copy-refused',
    `The folder has "${foreign}", which belongs to no copy. Use an empty or a new folder.`,
  );
}

function renderState({ source, token, usersTag, boardsTag, months }: FolderState) {
  return { format: FORMAT, source, token, users_tag: usersTag, boards_tag: boardsTag, months };
}

function renderChange({ written, removed, state }: FolderChange) {
  return { written, removed, state: renderState(state) };
}

function readState(value: unknown): FolderState {
  const { format, source, token, users_tag, boards_tag, months } = membersOf(value);
  if (typeof format === 'number' && format > FORMAT) {
    throw new AppError(
      'copy-refused',
      'The folder was written by a later version of corkboard. Use that one.',
    );
  }
  if (typeof source !== 'string' || typeof token !== 'string') throw damaged();
  const tags = { usersTag: tagOf(users_tag), boardsTag: tagOf(boards_tag) };
  return { source, token, ...tags, months: textsOf(months) };
}

function readChange(text: string): FolderChange {
  const { written, removed, state } = membersOf(parsed(text));
  return { written: textsOf(written), removed: textsOf(removed), state: readState(state) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw damaged();
  }
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>;
  throw damaged();
}

function textsOf(value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((text) => typeof text === 'string')) return value;
  throw damaged();
}

function tagOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function damaged(): AppError {
  return new AppError(
    'copy-refused',
    'The files about the state of the copy are damaged. Use an empty or a new folder.',
  );
}
