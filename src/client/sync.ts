/** Keeping a copy of events up to date (decision 19): what has changed since a token, in batches that can be applied one by one. */
import type { Asking } from './asking.ts';
import { AnswerError, ProblemError } from './errors.ts';
import type { Id } from './exact.ts';
import { pause } from './retrying.ts';
import type { Query } from './sending.ts';

/** An event that can be found again: what comes with the same `sync_id` replaces it. */
export type Synced<E> = E & { readonly sync_id: string };

export interface SyncBatch<E> {
  /** Everything comes anew: empty the table, and forget the token that is stored, before anything else. */
  readonly startsAnew: boolean;
  /** People who were erased: delete every event whose actor has one of these ids, before `events` are applied. */
  readonly forgotten: readonly Id[];
  /** Each replaces the event with its `sync_id`, or is new. */
  readonly events: readonly Synced<E>[];
  /**
   * Store it in the transaction that applies this batch, and give it to the next `sync`. Absent while more batches of
   * the same walk are to come: who stops there begins again with the token before, which does no harm.
   */
  readonly token: string | undefined;
}

export interface SyncWish {
  readonly path: string;
  readonly query: Query;
  /** Absent: from the beginning. */
  readonly token: string | undefined;
  readonly pageSize: number;
  /** Asks again after so long, for ever. Absent: ends when it has caught up. */
  readonly pollMs: number | undefined;
  readonly signal: AbortSignal | undefined;
}

/** No batch comes when nothing has changed and the token is still the same. */
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

/** Once through the pages of what has changed; returns the token for the next time. */
async function* walk<E>(
  asking: Asking,
  { path, query, pageSize, signal }: Omit<SyncWish, 'token' | 'pollMs'>,
  known: string | undefined,
): AsyncGenerator<SyncBatch<E>, string, undefined> {
  let since = known ?? START;
  let startsAnew = since === START;
  let cursor: string | undefined;
  for (;;) {
    const asked = { ...query, since, limit: String(pageSize), cursor };
    const page = await asking.page(path, asked, signal).catch((error: unknown) => {
      if (since !== START && error instanceof ProblemError && error.code === 'since-invalid')
        return undefined;
      throw error;
    });
    if (page === undefined) {
      [since, startsAnew, cursor] = [START, true, undefined];
      continue;
    }
    const { syncToken } = page;
    if (syncToken === undefined)
      throw new AnswerError(
        'unreadable',
        'The answer carries no Sync-Token: the server is too old to be followed.',
      );
    const isLast = page.cursor === undefined;
    const changes = sorted<E>(page.elements);
    const isNews = startsAnew || page.elements.length > 0 || (isLast && syncToken !== known);
    if (isNews) yield { startsAnew, ...changes, token: isLast ? syncToken : undefined };
    if (isLast) return syncToken;
    startsAnew = false;
    cursor = page.cursor;
  }
}

export const START = 'start';

export function sorted<E>(elements: readonly unknown[]): Pick<SyncBatch<E>, 'forgotten' | 'events'> {
  const forgotten: Id[] = [];
  const events: Synced<E>[] = [];
  for (const element of elements as readonly (Synced<E> | Forgotten)[]) {
    if ('forgotten' in element) forgotten.push(element.forgotten.user);
    else events.push(element);
  }
  return { forgotten, events };
}

interface Forgotten {
  readonly forgotten: { readonly user: Id };
}
