/** The state of a copy in Parquet files, and a change of its files, as JSON (decision 96). */
import { AppError } from '../../domain/app-error.ts';
import type { CopyState } from '../copy-target.ts';

const FORMAT = 1;

/** The name of a list, like `users`, or the month of events, like `2018-03`. */
export type CopyFileName = string;

/** Those of copies from before the table of points, whose state does not name its lists. */
const FIRST_LISTS: readonly CopyFileName[] = ['users', 'boards'];

export interface FilesState extends CopyState {
  /** Those with a file. */
  readonly lists: readonly CopyFileName[];
  /** Those with events. */
  readonly months: readonly CopyFileName[];
}

export interface RecordedChange {
  /** The size in bytes of each file that is written. */
  readonly written: ReadonlyMap<CopyFileName, number>;
  readonly removed: readonly CopyFileName[];
  /** The run whose new files these are; absent in a folder, which has those of one run. */
  readonly run?: string;
  readonly state: FilesState;
}

export function renderState({ source, token, usersTag, boardsTag, pointsTag, lists, months }: FilesState) {
  const tags = { users_tag: usersTag, boards_tag: boardsTag, points_tag: pointsTag };
  return { format: FORMAT, source, token, ...tags, lists, months };
}

export function renderChange({ run, written, removed, state }: RecordedChange) {
  return { run, written: Object.fromEntries(written), removed, state: renderState(state) };
}

/** Throws `copy-refused`. */
export function readState(text: string): FilesState {
  return stateOf(parsed(text));
}

/** Throws `copy-refused`. */
export function readChange(text: string): RecordedChange {
  const { run, written, removed, state } = membersOf(parsed(text));
  const change = { written: sizesOf(written), removed: textsOf(removed), state: stateOf(state) };
  return typeof run === 'string' ? { ...change, run } : change;
}

export function damaged(): AppError {
  return new AppError(
    'copy-refused',
    'The files about the state of the copy are damaged. Use an empty or a new target.',
  );
}

function stateOf(value: unknown): FilesState {
  const { format, source, token, users_tag, boards_tag, points_tag, lists, months } = membersOf(value);
  if (typeof format === 'number' && format > FORMAT) {
    throw new AppError('copy-refused', 'The copy was written by a later version of corkboard. Use that one.');
  }
  if (typeof source !== 'string' || typeof token !== 'string') throw damaged();
  const tags = { usersTag: tagOf(users_tag), boardsTag: tagOf(boards_tag), pointsTag: tagOf(points_tag) };
  return { source, token, ...tags, lists: textsOf(lists ?? FIRST_LISTS), months: textsOf(months) };
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

function sizesOf(value: unknown): ReadonlyMap<CopyFileName, number> {
  const sizes = Object.entries(membersOf(value));
  if (sizes.every((entry): entry is [string, number] => typeof entry[1] === 'number')) return new Map(sizes);
  throw damaged();
}

function textsOf(value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((text) => typeof text === 'string')) return value;
  throw damaged();
}

function tagOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
