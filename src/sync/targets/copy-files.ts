/**
 * The files of a copy (decision 96), and what holds them: a folder or a bucket. New files are
 * complete before the first one is put in place, and what is to be put in place and deleted is
 * written down before. So a run that is killed has changed nothing, or the next one completes it.
 */
import { AppError } from '../../domain/app-error.ts';
import { LISTS } from '../tables.ts';
import { type CopyFileName, damaged, type FilesState } from './files-state.ts';

/** Written last, and only when it changes. */
export const STATE_FILE = 'corkboard_sync.json';
export const EVENTS_FOLDER = 'events';
/** Programs that look for Parquet files ignore folders whose name begins with a dot. */
export const OWN_FOLDER = '.corkboard';
/** A change that is written down. */
export const CHANGE_FILE = `${OWN_FOLDER}/change.json`;
/** The tables that have a file each. */
export const LIST_NAMES: readonly string[] = LISTS.map(({ name }) => name);
const MONTH_NAME = /^\d{4}-\d{2}$/;

export interface FilesChange {
  /** Complete at `nextFile`. */
  readonly written: readonly CopyFileName[];
  readonly removed: readonly CopyFileName[];
  readonly state: FilesState;
}

/** `lock` comes first; the others require the lock. */
export interface CopyFiles {
  /** Returns the function that releases the lock. Throws `copy-busy` if a run has it. */
  lock(): Promise<() => Promise<void>>;
  /**
   * Completes or undoes a run that was killed, and makes an empty folder for unfinished files.
   * Returns the state after the last completed run. Throws `copy-refused`.
   */
  begin(): Promise<FilesState | undefined>;
  /** The folder for unfinished files, on this machine. */
  readonly unfinished: string;
  /** Where the new content of a file is written. */
  nextFile(name: CopyFileName): string;
  /** Paths on this machine at which the columns of files can be read; absent: all columns. */
  readable(names: readonly CopyFileName[], columns?: readonly string[]): Promise<readonly string[]>;
  /** Puts the new files in place. */
  change(change: FilesChange): Promise<void>;
  /** Removes what is unfinished, unless the next run is to complete it. */
  end(): Promise<void>;
}

/** Relative to the folder, or to the prefix in the bucket. Throws `copy-refused`. */
export function pathOf(name: CopyFileName): string {
  if (LIST_NAMES.includes(name)) return `${name}.parquet`;
  if (MONTH_NAME.test(name)) return `${EVENTS_FOLDER}/month=${name}/events.parquet`;
  throw damaged();
}

/** For a change that is written down, but whose new files are gone. */
export function lostFiles(): AppError {
  return new AppError(
    'copy-refused',
    'New files of a run that was ended are lost, so the copy cannot be completed. Use an empty or a new target.',
  );
}

/** `path`: of a file that the state names. */
export function lacksFile(path: string): AppError {
  return new AppError('copy-refused', `The copy lacks the file ${path}. Use an empty or a new target.`);
}

export function renderJsonFile(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`);
}
