/**
 * What a pull knows about the files in its folder. It is stored as JSON and read with distrust:
 * names of files are made of its numbers, never of its texts, and what does not hold counts as
 * none.
 */

export type FileKind = 'users' | 'boards' | 'events' | 'points';

/** A response that was got. */
export interface KeptProgress {
  /** Of its file; absent once it is published, when only the entity tag is of use. */
  readonly file: { readonly number: number; readonly bytes: number } | undefined;
  /** In which round it held. */
  readonly round: number;
  /** Where the server has given one. */
  readonly etag: string | undefined;
}

/** A walk through pages of events (decision 19). */
export interface Walk {
  /** What it asks for: a token, or `start`. */
  readonly since: string;
  /** Where its next page begins; absent before the first one. */
  readonly cursor: string | undefined;
  /** Pages so far, empty ones included. */
  readonly steps: number;
  /** The cursor of an earlier page: one that comes again leads in a circle. */
  readonly mark: string | undefined;
}

/** The names are ours: a list, or `points` and the id of a board. */
export type FileName = 'users' | 'boards' | 'users-beside' | 'boards-beside' | 'events' | `points ${string}`;

export interface Progress {
  /** Of the server, and a digest of the key: another one may see other things. */
  readonly source: string;
  /** Counts looks at the server; what was got in this one need not be asked for again. */
  round: number;
  readonly files: Map<FileName, KeptProgress>;
  /** Of the file made last. */
  lastNumber: number;
  /** Which variant the base is; absent while that is not known. */
  variant: 'a' | 'b' | undefined;
  /** Whether the server has pages and tokens; absent while that is not known. */
  hasTokens: boolean | undefined;
  /** From where on events are new, once all before have been got. */
  token: string | undefined;
  walk: Walk | undefined;
  /** In which round a walk has come to its end. */
  walkedRound: number;
  /** Pages of events that are not published yet, numbered from 1, and their size together. */
  pages: { readonly count: number; readonly bytes: number };
  /** Whether anything has been got that is not published yet. */
  isNew: boolean;
}

/**
 * Of the form below. Earlier versions of Corkboard had others, from which nothing is taken over.
 */
const FORMAT = 2;
const FILE_NAME = /^(?:users|boards|users-beside|boards-beside|events|points -?\d{1,19})$/;

export function newProgress(source: string): Progress {
  return {
    ...{ source, round: 1, files: new Map(), lastNumber: 0, variant: undefined, hasTokens: undefined },
    ...{ token: undefined, walk: undefined, walkedRound: 0, pages: { count: 0, bytes: 0 }, isNew: false },
  };
}

export function writeProgress(progress: Progress): string {
  return JSON.stringify({ format: FORMAT, ...progress, files: [...progress.files] });
}

/** Absent for what does not hold, as a whole. */
export function readProgress(text: string): Progress | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value) || value['format'] !== FORMAT || !Array.isArray(value['files'])) return undefined;
  const { source, round, lastNumber, variant, hasTokens, token, walk, walkedRound, pages, isNew } = value;
  const files = filesOf(value['files']);
  const holds =
    files !== undefined &&
    typeof source === 'string' &&
    [round, lastNumber, walkedRound].every(isCount) &&
    (variant === undefined || variant === 'a' || variant === 'b') &&
    (hasTokens === undefined || typeof hasTokens === 'boolean') &&
    isTextOrAbsent(token) &&
    (walk === undefined || isWalk(walk)) &&
    isObject(pages) &&
    isCount(pages['count']) &&
    isCount(pages['bytes']) &&
    typeof isNew === 'boolean';
  // Each member was checked above.
  return holds ? { ...(value as unknown as Progress), files } : undefined;
}

function filesOf(entries: readonly unknown[]): Map<FileName, KeptProgress> | undefined {
  const files = new Map<FileName, KeptProgress>();
  for (const entry of entries) {
    if (!Array.isArray(entry)) return undefined;
    const [name, kept] = entry as readonly unknown[];
    if (typeof name !== 'string' || !FILE_NAME.test(name) || !isKept(kept)) return undefined;
    files.set(name as FileName, kept);
  }
  return files;
}

function isKept(value: unknown): value is KeptProgress {
  if (!isObject(value) || !isCount(value['round']) || !isTextOrAbsent(value['etag'])) return false;
  const { file } = value;
  return file === undefined || (isObject(file) && isCount(file['number']) && isCount(file['bytes']));
}

function isWalk(value: unknown): value is Walk {
  if (!isObject(value) || typeof value['since'] !== 'string' || !isCount(value['steps'])) return false;
  return isTextOrAbsent(value['cursor']) && isTextOrAbsent(value['mark']);
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isTextOrAbsent(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
