/** The API clients with the key of this tab, and the texts for failed requests. */
import { openAsking } from '../../../src/client/asking.ts';
import {
  AnswerError,
  type CorkboardError,
  openClient,
  ProblemError,
  type RetryOptions,
} from '../../../src/client/client.ts';
import { loseKey, readKey } from './key.ts';

const RETRY: RetryOptions = { retries: 2, firstPauseMs: 1_000, isPassing };
const PASSING_STATUSES: readonly number[] = [500, 502, 504];

/** Does not include 429 and 503: the console shows the `Retry-After` of a busy server instead. */
function isPassing(error: CorkboardError): boolean {
  if (error instanceof ProblemError) return PASSING_STATUSES.includes(error.status);
  return error.code === 'unreachable' || error.code === 'cut-short';
}

function originOf(key: string, base: 'a' | 'b' | 'insights') {
  // Data stays only in the memory of the tab: the cache of the browser would outlive it.
  const uncached: typeof fetch = (url, options) => fetch(url, { ...options, cache: 'no-store' });
  return { baseUrl: `${location.origin}/${base}`, key, fetch: uncached };
}

/** Throws `TypeError` for text that cannot be a key. */
export function openApi(key = readKey(), retry = RETRY) {
  return {
    a: openClient({ ...originOf(key, 'a'), retry, variant: 'a' }),
    b: openClient({ ...originOf(key, 'b'), retry, variant: 'b' }),
    insights: openClient({ ...originOf(key, 'insights'), retry, variant: 'insights' }),
    /** Reads one page of the insights. */
    page: openAsking(originOf(key, 'insights'), retry).page,
    /** For bodies that are used byte for byte. */
    origin: originOf(key, 'insights'),
  };
}

/** Deletes the key after a response with status 401; the key form shows the reason. */
export function loseRefusedKey(error: unknown): void {
  if (error instanceof ProblemError && error.status === 401) loseKey(error.detail);
}

export interface Trouble {
  readonly title: string;
  readonly detail: string;
}

export function troubleOf(error: unknown): Trouble {
  if (error instanceof ProblemError) return error;
  if (error instanceof AnswerError) {
    const detail =
      error.code === 'unreachable'
        ? 'The server cannot be reached. Check the connection and try again.'
        : error.message;
    return { title: 'No response', detail };
  }
  // Its name depends on its content, so an updated server has another one.
  if (error instanceof TypeError && /module/.test(error.message))
    return {
      title: 'This page could not be loaded',
      detail: 'The server cannot be reached, or it was updated. Try again to load the console.',
    };
  return { title: 'Something went wrong', detail: error instanceof Error ? error.message : String(error) };
}
