/**
 * Requests for the content of the API: lists as one stream or page by page (decision 18), and maps
 * as a whole.
 */
import { AnswerError } from './errors.ts';
import { nextCursor } from './headers.ts';
import { MEDIA_TYPES } from './media-types.ts';
import { type Message, readElements, readMessages, readWhole } from './reading.ts';
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
  page(path: string, query: Query, signal: AbortSignal | undefined): Promise<Page>;
  whole<T>(path: string, query: Query, signal: AbortSignal | undefined): Promise<T>;
}

export function openAsking(origin: Origin, retry: RetryOptions): Asking {
  const page: Asking['page'] = (path, query, signal) =>
    // Elements are kept until the page is complete, so that the request can be retried.
    retrying(
      async () => {
        const response = await send(origin, { path, query, accept: MEDIA_TYPES.ndjson, signal });
        const elements: unknown[] = [];
        for await (const element of readElements<unknown>(response, signal)) elements.push(element);
        return {
          elements,
          cursor: nextCursor(response.headers),
          syncToken: response.headers.get('sync-token') ?? undefined,
        };
      },
      retry,
      signal,
    );
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
      let cursor: string | undefined;
      do {
        const one = await page(path, { ...query, limit: String(pageSize), cursor }, signal);
        yield* one.elements as readonly T[];
        cursor = nextAfter(cursor, one);
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
  };
}

/** The cursor of the next page, after the page with this one. Throws `AnswerError` for a circle. */
export function nextAfter(cursor: string | undefined, page: Pick<Page, 'cursor'>): string | undefined {
  if (cursor === undefined || page.cursor !== cursor) return page.cursor;
  throw new AnswerError('unreadable', 'A page of the response is its own next page.');
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
