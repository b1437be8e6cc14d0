/**
 * Requests for the content of the API: lists as one stream or page by page (decision 18), and maps
 * as a whole.
 */
import { AnswerError } from './errors.ts';
import { nextCursor } from './headers.ts';
import { MEDIA_TYPES } from './media-types.ts';
import { PageOrder } from './page-order.ts';
import { type Message, readElements, readMessages, readPage, readText, readWhole } from './reading.ts';
import { type RetryOptions, retrying } from './retrying.ts';
import { type Origin, type Query, send } from './sending.ts';

/**
 * A time: a `Date`, ISO 8601 with an offset, or Unix time in milliseconds. Numbers below
 * 100,000,000,000 count as seconds (decision 5).
 */
export type Instant = Date | string | number;

export interface RangeOptions {
  /** Start of the time range, inclusive. */
  readonly start?: Instant | undefined;
  /** End of the time range, exclusive. */
  readonly end?: Instant | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ListOptions extends RangeOptions {
  /** Elements per page, from 1 to 10,000. If absent, the whole list comes in one response. */
  readonly pageSize?: number | undefined;
}

export interface Page {
  readonly elements: readonly unknown[];
  /** Absent on the last page. */
  readonly cursor: string | undefined;
  readonly syncToken: string | undefined;
  /** The most elements that were requested: fewer than wished if larger pages are too large. */
  readonly size: number;
}

export interface Asking {
  /** Reads the list in pages if `pageSize` is given, otherwise as one response. */
  list<T>(
    path: string,
    query: Query,
    pageSize: number | undefined,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<T, void, undefined>;
  messages(
    path: string,
    query: Query,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Message, void, undefined>;
  page(path: string, query: Query, size: number, signal: AbortSignal | undefined): Promise<Page>;
  whole<T>(path: string, query: Query, signal: AbortSignal | undefined): Promise<T>;
  /** A file of CSV, as it is. */
  csv(path: string, query: Query, signal: AbortSignal | undefined): Promise<string>;
}

export function openAsking(origin: Origin, retry: RetryOptions): Asking {
  const page: Asking['page'] = (path, { cursor, ...others }, most, signal) =>
    inSmallerPages(most, async (size) => {
      const query = { ...others, limit: String(size), cursor };
      // Elements are kept until the page is complete, so that the request can be retried.
      const attempt = async () => {
        const response = await send(origin, { path, query, accept: MEDIA_TYPES.ndjson, signal });
        return {
          elements: await readPage(response, signal),
          cursor: nextCursor(response.headers),
          syncToken: response.headers.get('sync-token') ?? undefined,
          size,
        };
      };
      return await retrying(attempt, retry, signal);
    });
  return {
    page,
    async *list<T>(
      path: string,
      query: Query,
      pageSize: number | undefined,
      signal: AbortSignal | undefined,
    ) {
      if (pageSize === undefined) {
        const request = { path, query, accept: MEDIA_TYPES.ndjson, signal };
        yield* readElements<T>(await retrying(() => send(origin, request), retry, signal), signal);
        return;
      }
      const order = new PageOrder();
      let cursor: string | undefined;
      let size = pageSize;
      do {
        const one = await page(path, { ...query, cursor }, size, signal);
        yield* one.elements as readonly T[];
        cursor = order.next(one);
        size = one.size;
      } while (cursor !== undefined);
    },
    async *messages(path, query, signal) {
      const request = { path, query, accept: MEDIA_TYPES['event-stream'], signal };
      yield* readMessages(await retrying(() => send(origin, request), retry, signal), signal);
    },
    whole: (path, query, signal) =>
      retrying(
        async () => readWhole(await send(origin, { path, query, accept: MEDIA_TYPES.json, signal }), signal),
        retry,
        signal,
      ),
    csv: (path, query, signal) =>
      retrying(
        async () => readText(await send(origin, { path, query, accept: MEDIA_TYPES.csv, signal }), signal),
        retry,
        signal,
      ),
  };
}

/**
 * Requests a page of at most `size` elements, and smaller ones as long as it is too large, which
 * elements with long texts can make it.
 */
export async function inSmallerPages<T>(size: number, request: (size: number) => Promise<T>): Promise<T> {
  try {
    return await request(size);
  } catch (error) {
    if (size <= 1 || !(error instanceof AnswerError && error.code === 'too-large')) throw error;
    return await inSmallerPages(Math.ceil(size / 4), request);
  }
}

/** Writes a `Date` as ISO 8601: the server would read a number before March 1973 as seconds. */
export function instantText(instant: Instant): string {
  return instant instanceof Date ? instant.toISOString() : String(instant);
}

export function rangeQuery({ start, end }: RangeOptions): Query {
  return {
    start: start === undefined ? undefined : instantText(start),
    end: end === undefined ? undefined : instantText(end),
  };
}

/** Replaces the names in a path. Throws `TypeError` for text that a path cannot contain. */
export function pathWith(path: string, names: Readonly<Record<string, string>>): string {
  return path.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const text = names[name] ?? '';
    // Every URL parser removes segments of one or two dots, even if they are encoded.
    if (text !== '' && text !== '.' && text !== '..' && text.isWellFormed()) return encodeURIComponent(text);
    throw new TypeError(
      `The value of ${name} in a path must be well-formed Unicode and not empty, "." or "..".`,
    );
  });
}
