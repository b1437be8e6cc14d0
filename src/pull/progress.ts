/**
 * The state of a pull: the files in its folder, and what is known about the server. It is stored as
 * JSON and not trusted when it is read: file names are made only from its numbers, never from its
 * texts, and an invalid state counts as none.
 */
import type { Step } from '../client/page-order.ts';

export type FileKind = 'users' | 'boards' | 'events' | 'points';

/** A response that was received. */
export interface KeptProgress {
  /** The file; absent after a publication, when only the entity tag is used. */
  readonly file: { readonly number: number; readonly bytes: number } | undefined;
  /** The last round in which the response was valid. */
  readonly round: number;
  /** Absent if the server sent none. */
  readonly etag: string | undefined;
}

/** A traversal of pages of events (decision 19). */
export interface Walk extends Step {
  /** The query parameter `since`: a sync token, or `start`. */
  readonly since: string;
}

/** Names given by Corkboard: a list, or `points` and the id of a board. */
export type FileName = 'users' | 'boards' | 'users-beside' | 'boards-beside' | 'events' | `points ${string}`;

export interface Progress {
  /** URL of the server, and a digest of the key: a different key may see different data. */
  readonly source: string;
  /** Number of the current round of requests. A response of this round is not requested again. */
  round: number;
  readonly files: Map<FileName, KeptProgress>;
  /** Number of the newest file. */
  lastNumber: number;
  /** The variant of the base URL; undefined as long as it is unknown. */
  variant: 'a' | 'b' | undefined;
  /** Whether the server has pages and sync tokens; undefined as long as that is unknown. */
  hasTokens: boolean | undefined;
  /** Sync token after the last complete traversal: later events are new. */
  token: string | undefined;
  walk: Walk | undefined;
  /** The last round in which a traversal was completed. */
  walkedRound: number;
  /** Pages of events that are not yet published, numbered from 1, and their total size. */
  pages: { readonly count: number; readonly bytes: number };
  /** Whether any received data is not yet published. */
  isNew: boolean;
}

/** Version of the format below. Earlier versions of Corkboard had others, which are discarded. */
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

/** Undefined if any part is invalid. */
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
