/**
 * Live streams (decision 58): changes as soon as they are published, in the same batches as sync.
 * After a stream breaks or ends, a new one continues from the last sync token.
 */
import type { Asking } from './asking.ts';
import { AnswerError } from './errors.ts';
import { pause, type RetryOptions } from './retrying.ts';
import { isRefusedToken, START, type SyncBatch, type SyncWish, sorted } from './sync.ts';

const MOST_IN_A_BATCH = 1_000;
const FIRST_PAUSE_MS = 500;

/** Has no end. Throws errors that remain after retries, or the reason of the signal. */
export async function* followLive<E>(
  asking: Asking,
  { token, ...wish }: Omit<SyncWish, 'pageSize' | 'pollMs'>,
  { firstPauseMs = FIRST_PAUSE_MS, onRetry }: RetryOptions,
): AsyncGenerator<SyncBatch<E>, void, undefined> {
  let known = token;
  for (;;) {
    try {
      for await (const batch of batchesOf<E>(asking, wish, known)) {
        yield batch;
        known = batch.token ?? known;
      }
      // The server stops, or the scope of the key has changed.
      await pause(firstPauseMs, wish.signal);
    } catch (error) {
      if (isRefusedToken(error) && isToken(known)) {
        known = START;
      } else if (error instanceof AnswerError && error.code === 'cut-short') {
        onRetry?.({ error, attempt: 1, pauseMs: firstPauseMs });
        await pause(firstPauseMs, wish.signal);
      } else throw error;
    }
  }
}

function isToken(known: string | undefined): boolean {
  return known !== undefined && known !== START;
}

/** The batches of one stream. Changes after its last token are repeated by the next stream. */
async function* batchesOf<E>(
  asking: Asking,
  { path, query, signal }: Omit<SyncWish, 'token' | 'pageSize' | 'pollMs'>,
  known: string | undefined,
): AsyncGenerator<SyncBatch<E>, void, undefined> {
  let startsAnew = known === START;
  let elements: unknown[] = [];
  for await (const message of asking.messages(path, { ...query, since: known }, signal)) {
    if ('element' in message) elements.push(message.element);
    const token = 'token' in message ? message.token : undefined;
    const isNews = elements.length > 0 || startsAnew || token !== known;
    if ((token === undefined || !isNews) && elements.length < MOST_IN_A_BATCH) continue;
    yield { startsAnew, ...sorted<E>(elements), token };
    [startsAnew, elements] = [false, []];
    known = token ?? known;
  }
}
