/** Questions put to the server: lists as one stream or page by page (decision 18), and maps as a whole. */
import { AnswerError } from './errors.ts';
import { readElements, readWhole } from './reading.ts';
import { type RetryOptions, retrying } from './retrying.ts';
import { type Origin, send } from './sending.ts';

/** A time: a `Date`, ISO 8601 with an offset, or Unix milliseconds, which count as seconds below 100,000,000,000 (decision 5). */
export type Instant = Date | string | number;

export interface RangeOptions {
  /** Start of the range; it belongs to the range. */
  readonly start?: Instant | undefined;
  /** End of the range; it does not belong to the range any more. */
  readonly end?: Instant | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ListOptions extends RangeOptions {
  /** From 1 to 10,000: the list comes in pages of so many. Absent: all of it comes in one answer. */
  readonly pageSize?: number | undefined;
}

export type Query = Readonly<Record<string, string | undefined>>;

export interface Page {
  readonly elements: readonly unknown[];
  /** Absent on the last page. */
  readonly cursor: string | undefined;
  readonly syncToken: string | undefined;
}

export interface Asking {
  stream<T>(path: string, query: Query, signal: AbortSignal | undefined): AsyncGenerator<T, void, undefined>;
  pages<T>(path: string, query: Query, signal: AbortSignal | undefined): AsyncGenerator<T, void, undefined>;
  page(path: string, query: Query, signal: AbortSignal | undefined): Promise<Page>;
  whole<T>(path: string, query: Query, signal: AbortSignal | undefined): Promise<T>;
}

const NDJSON = 'application/x-ndjson';

export function openAsking(origin: Origin, retry: RetryOptions): Asking {
  const page: Asking['page'] = (path, query, signal) =>
    // A page is kept until all of it has come, so that it can be asked for again.
    retrying(
      async () => {
        const response = await send(origin, { path, query, accept: NDJSON, signal });
        const elements: unknown[] = [];
        for await (const element of readElements<unknown>(response, signal)) elements.push(element);
        return {
          elements,
          cursor: cursorOf(response),
          syncToken: response.headers.get('sync-token') ?? undefined,
        };
      },
      retry,
      signal,
    );
  return {
    page,
    async *stream<T>(path: string, query: Query, signal: AbortSignal | undefined) {
      const request = { path, query, accept: NDJSON, signal } as const;
      yield* readElements<T>(await retrying(() => send(origin, request), retry, signal), signal);
    },
    async *pages<T>(path: string, query: Query, signal: AbortSignal | undefined) {
      let cursor: string | undefined;
      do {
        const one = await page(path, { ...query, cursor }, signal);
        yield* one.elements as readonly T[];
        cursor = one.cursor;
      } while (cursor !== undefined);
    },
    whole: (path, query, signal) =>
      retrying(
        async () =>
          readWhole(await send(origin, { path, query, accept: 'application/json', signal }), signal),
        retry,
        signal,
      ),
  };
}

/** Only the cursor is taken from `Link`: its address is the one that the server sees, which a proxy may have changed. */
function cursorOf({ headers }: Response): string | undefined {
  const link = headers.get('link');
  const target = /<([^>]*)>\s*;[^,]*\brel="?next"?/.exec(link ?? '')?.[1];
  if (target === undefined) return undefined;
  const cursor = /[?&]cursor=([^&]+)/.exec(target)?.[1];
  if (cursor !== undefined) return decodeURIComponent(cursor);
  throw new AnswerError('unreadable', 'The header Link names a next page without a cursor.');
}

/** A date is written as ISO 8601: as a number, one before March 1973 would be read as seconds. */
export function rangeQuery({ start, end }: RangeOptions): Query {
  const text = (instant: Instant | undefined) =>
    instant instanceof Date ? instant.toISOString() : instant?.toString();
  return { start: text(start), end: text(end) };
}

/** Fills the names of a path. Throws `TypeError` for what no path can carry. */
export function pathWith(path: string, names: Readonly<Record<string, string>>): string {
  return path.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const text = names[name] ?? '';
    // Every URL parser takes dots away, however they are written.
    if (text !== '' && text !== '.' && text !== '..' && text.isWellFormed()) return encodeURIComponent(text);
    throw new TypeError(
      `What stands for ${name} in a path must not be empty, a dot, two dots, or half a character.`,
    );
  });
}
