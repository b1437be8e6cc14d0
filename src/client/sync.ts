/**
 * Keeps a copy of events up to date (decision 19): the changes since a sync token, in batches to
 * apply one after the other.
 */
import type { Asking } from './asking.ts';
import { AnswerError, ProblemError } from './errors.ts';
import type { Id } from './exact.ts';
import { PageOrder, userOf } from './page-order.ts';
import { pause } from './retrying.ts';
import type { Query } from './sending.ts';

/** An event with an identity: a later event with the same `sync_id` replaces it. */
export type Synced<E> = E & { readonly sync_id: string };

export interface SyncBatch<E> {
  /** Everything follows again from the start: first empty the table and delete the stored token. */
  readonly startsAnew: boolean;
  /** Erased users: before you apply `events`, delete every event whose actor has such an id. */
  readonly forgotten: readonly Id[];
  /** The `sync_id`s of deleted events: delete these before you apply `events`. */
  readonly deleted: readonly string[];
  /** Each replaces the event with the same `sync_id`, or is new. */
  readonly events: readonly Synced<E>[];
  /**
   * Store it in the transaction that applies this batch, and pass it to the next `sync`. Absent if
   * more batches of the same change set follow. If you stop there, continue with the previous
   * token; the repeated batches do no harm.
   */
  readonly token: string | undefined;
}

export interface SyncWish {
  readonly path: string;
  readonly query: Query;
  /** Absent: from the beginning. */
  readonly token: string | undefined;
  readonly pageSize: number;
  /** Polls without an end, with this pause. If absent, ends when it has caught up. */
  readonly pollMs: number | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Yields no batch if nothing has changed and the token is still the same. */
export async function* followChanges<E>(
  asking: Asking,
  { token, pollMs, ...wish }: SyncWish,
): AsyncGenerator<SyncBatch<E>, void, undefined> {
  let known = token;
  for (;;) {
    known = yield* walk<E>(asking, wish, known);
    if (pollMs === undefined) return;
    await pause(pollMs, wish.signal);
  }
}

/** Reads all pages of one change set; returns the sync token for the next one. */
async function* walk<E>(
  asking: Asking,
  { path, query, pageSize, signal }: Omit<SyncWish, 'token' | 'pollMs'>,
  known: string | undefined,
): AsyncGenerator<SyncBatch<E>, string, undefined> {
  let since = known ?? START;
  let startsAnew = since === START;
  let cursor: string | undefined;
  let size = pageSize;
  let order = new PageOrder();
  let restarts = 0;
  for (;;) {
    const asked = { ...query, since, cursor };
    const page = await asking.page(path, asked, size, signal).catch((error: unknown) => {
      const isStale = isCursorOfChangedScope(error) || (since !== START && isRefusedToken(error));
      if (isStale && restarts < MOST_RESTARTS) return undefined;
      throw error;
    });
    if (page === undefined) {
      [since, startsAnew, cursor, order] = [START, true, undefined, new PageOrder()];
      restarts += 1;
      continue;
    }
    const { syncToken } = page;
    if (syncToken === undefined)
      throw new AnswerError(
        'unreadable',
        'The response has no Sync-Token header: the server is too old for sync.',
      );
    const isLast = page.cursor === undefined;
    const changes = sorted<E>(page.elements);
    const isNews = startsAnew || page.elements.length > 0 || (isLast && syncToken !== known);
    if (isNews) yield { startsAnew, ...changes, token: isLast ? syncToken : undefined };
    if (isLast) return syncToken;
    startsAnew = false;
    cursor = order.next(page);
    size = page.size;
  }
}

export const START = 'start';

/** Every change of what the key sees makes one. A server could cause restarts without an end. */
export const MOST_RESTARTS = 3;

/** Codes of refused sync tokens. The second is that of servers after version 0.2. */
const REFUSED_TOKEN: readonly string[] = ['since-invalid', 'since-scope-changed'];

/** Whether a client with a sync token must start again with an empty table. */
export function isRefusedToken(error: unknown): boolean {
  return error instanceof ProblemError && REFUSED_TOKEN.includes(error.code);
}

/** Whether the scope of the key has changed since the first page. */
function isCursorOfChangedScope(error: unknown): boolean {
  return error instanceof ProblemError && error.code === 'cursor-scope-changed';
}

type Sorted<E> = Pick<SyncBatch<E>, 'forgotten' | 'deleted' | 'events'>;

/** Throws `AnswerError` for elements that are no changes. */
export function sorted<E>(elements: readonly unknown[]): Sorted<E> {
  const forgotten: Id[] = [];
  const deleted: string[] = [];
  const events: Synced<E>[] = [];
  for (const element of elements) {
    if (!isChange<E>(element))
      throw new AnswerError(
        'unreadable',
        'The response has no changes. It may come from a different service.',
      );
    if ('forgotten' in element) forgotten.push(element.forgotten.user);
    else if ('deleted' in element) deleted.push(element.sync_id);
    else events.push(element);
  }
  return { forgotten, deleted, events };
}

function isChange<E>(element: unknown): element is Synced<E> | Forgotten | Deleted {
  if (typeof element !== 'object' || element === null) return false;
  if ('forgotten' in element) return typeof userOf(element.forgotten) === 'string';
  return 'sync_id' in element && typeof element.sync_id === 'string';
}

interface Forgotten {
  readonly forgotten: { readonly user: Id };
}

interface Deleted {
  readonly sync_id: string;
  readonly deleted: true;
}
