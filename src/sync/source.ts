/** The server of a sync: the changes of its events, and its lists. */
import { inSmallerPages } from '../client/asking.ts';
import { openClient } from '../client/client.ts';
import { CorkboardError, ProblemError } from '../client/errors.ts';
import { nextCursor } from '../client/headers.ts';
import { MEDIA_TYPES } from '../client/media-types.ts';
import { PageOrder } from '../client/page-order.ts';
import { readPage } from '../client/reading.ts';
import { isPassing, type RetryOptions, retrying } from '../client/retrying.ts';
import { PATHS } from '../client/schema-a.ts';
import { type Origin, type Request, sendRaw } from '../client/sending.ts';
import type { SyncBatch } from '../client/sync.ts';
import { AppError } from '../domain/app-error.ts';

const PAGE_SIZE = 10_000;

export interface SyncedList {
  /** Absent if the server sent none. */
  readonly tag: string | undefined;
  readonly pages: AsyncIterable<readonly unknown[]>;
}

export interface SyncSource {
  /** Base URL of the variant, without a slash at its end. */
  readonly base: string;
  /**
   * Absent token: from the start. Yields nothing if nothing has changed. Throws `source-refused`.
   */
  changes(token: string | undefined): AsyncIterable<SyncBatch<unknown>>;
  /** Undefined if the list still has the entity tag. Throws `source-refused`. */
  list(of: 'users' | 'boards', tag: string | undefined): Promise<SyncedList | undefined>;
}

export interface SourceOptions {
  readonly retry?: RetryOptions;
  readonly signal?: AbortSignal | undefined;
  /** Elements of a page: 10,000 by default, which is the most. */
  readonly pageSize?: number;
}

/** `url`: base URL of a variant. Sends nothing. Throws `option-malformed`. */
export function openSource(url: string, key: string, options: SourceOptions = {}): SyncSource {
  const { retry = {}, signal, pageSize = PAGE_SIZE } = options;
  const base = url.replace(/\/+$/, '').replace(/\/v1$/, '');
  const client = openOrRefuse(base, key, retry);
  // Each encoding has its own entity tag.
  const origin = { baseUrl: base, key, headers: { 'accept-encoding': 'identity' }, fetch: globalThis.fetch };
  const request = async (path: string, cursor: string | undefined, most: number, etag?: string) => {
    const requestSized = (size: number) => {
      const query = { limit: String(size), cursor };
      const wish = { path, query, accept: MEDIA_TYPES.ndjson, etag, signal };
      return retrying(() => pageOf(origin, wish, size), retry, signal);
    };
    return await inSmallerPages(most, requestSized).catch(refuse);
  };
  return {
    base,
    changes: (token) => told(client.sync({ token, pageSize, signal })),
    async list(of, tag) {
      const path = of === 'users' ? PATHS.listUsers : PATHS.listBoards;
      const first = await request(path, undefined, pageSize, tag);
      if (first === undefined) return undefined;
      const next = (cursor: string, size: number) => request(path, cursor, size);
      return { tag: first.tag, pages: told(followPages(first, next)) };
    },
  };
}

interface SyncedPage {
  readonly tag: string | undefined;
  readonly cursor: string | undefined;
  readonly elements: readonly unknown[];
  readonly size: number;
}

/** Undefined if the page still has the entity tag. */
async function pageOf(origin: Origin, request: Request, size: number): Promise<SyncedPage | undefined> {
  const response = await sendRaw(origin, request);
  if (response.status === 304) {
    await response.body?.cancel();
    return undefined;
  }
  const { headers } = response;
  const elements = await readPage(response, request.signal);
  return { tag: headers.get('etag') ?? undefined, cursor: nextCursor(headers), elements, size };
}

async function* followPages(
  first: SyncedPage,
  read: (cursor: string, size: number) => Promise<SyncedPage | undefined>,
): AsyncGenerator<readonly unknown[], void> {
  const order = new PageOrder();
  for (let page: SyncedPage | undefined = first; page !== undefined; ) {
    yield page.elements;
    const cursor = order.next(page);
    page = cursor === undefined ? undefined : await read(cursor, page.size);
  }
}

/** Both variants have the same lists; only the fields of their elements differ. */
function openOrRefuse(baseUrl: string, key: string, retry: RetryOptions) {
  try {
    const options = { baseUrl, key, retry };
    return baseUrl.endsWith('/b')
      ? openClient({ ...options, variant: 'b' })
      : openClient({ ...options, variant: 'a' });
  } catch (error) {
    if (error instanceof TypeError) throw new AppError('option-malformed', error.message, { cause: error });
    throw error;
  }
}

/** Whether a later attempt may succeed: the server or the database was busy or away. */
export function passes(error: unknown): boolean {
  if (!(error instanceof AppError)) return false;
  const isOfServer = error.cause instanceof CorkboardError && isPassing(error.cause);
  return isOfServer || error.code === 'database-away';
}

async function* told<T>(parts: AsyncIterable<T>): AsyncGenerator<T, void> {
  try {
    yield* parts;
  } catch (error) {
    refuse(error);
  }
}

function refuse(error: unknown): never {
  if (!(error instanceof CorkboardError)) throw error;
  throw new AppError('source-refused', `Cannot read from the server: ${reasonOf(error)}`, { cause: error });
}

function reasonOf(error: CorkboardError): string {
  if (!(error instanceof ProblemError)) return error.message;
  const { status } = error;
  if (status === 401 || status === 403) return `it responded with status ${status}. The key is not accepted.`;
  if (status === 404)
    return 'there is no API at this URL. Use the part before /v1/events, like http://host/a.';
  return `it responded with status ${status}. Try again later.`;
}
