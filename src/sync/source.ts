/** The server of a sync: the changes of its events, its lists, and which version they show. */
import { inSmallerPages } from '../client/asking.ts';
import { type ClientOptions, openClient } from '../client/client.ts';
import { AnswerError, CorkboardError, ProblemError } from '../client/errors.ts';
import { nextCursor } from '../client/headers.ts';
import { MEDIA_TYPES } from '../client/media-types.ts';
import { PageOrder } from '../client/page-order.ts';
import { readBytes, readPage } from '../client/reading.ts';
import { isPassing, pause, type RetryOptions, retrying } from '../client/retrying.ts';
import { PATHS } from '../client/schema-a.ts';
import { PATHS as INSIGHTS_PATHS } from '../client/schema-insights.ts';
import { type Origin, type Request, send, sendRaw } from '../client/sending.ts';
import type { SyncBatch } from '../client/sync.ts';
import { AppError, type ErrorCode } from '../domain/app-error.ts';
import type { CopyList } from './tables.ts';
import type { CopyZone } from './views.ts';

const PAGE_SIZE = 10_000;
const DAY_SECONDS = 86_400;
/** Before all instants that an event can have. */
const EARLIEST_SECONDS = -1e12;
const NEVER = Number.NEGATIVE_INFINITY;
/** Two a year for longer than a server sends them. */
const MOST_OFFSETS = 1000;
const MOST_BYTES = 1024 * 1024;
/** The time within which all servers of an installation usually show a new version. */
const SETTLING_MS = 2_000;
const LIST_PATHS: Readonly<Record<CopyList, string>> = {
  users: PATHS.listUsers,
  boards: PATHS.listBoards,
  points: INSIGHTS_PATHS.listPoints,
};

export interface SyncedList {
  /** Absent if the server sent none. */
  readonly tag: string | undefined;
  readonly pages: AsyncIterable<readonly unknown[]>;
}

export interface SyncSource {
  /** Base URL of the variant, without a slash at its end. */
  readonly base: string;
  /**
   * Which versions of the data the responses have shown since this was last emptied (decision 100).
   * Servers up to 0.2 do not say.
   */
  readonly versions: Set<string>;
  /**
   * Absent token: from the start. Yields nothing if nothing has changed. Throws `source-refused`.
   */
  changes(token: string | undefined): AsyncIterable<SyncBatch<unknown>>;
  /**
   * Undefined if the list still has the entity tag; `missing` if the server has no points, or does
   * not show them beside this URL, or they are left out. Throws `source-refused`.
   */
  list(of: CopyList, tag: string | undefined): Promise<SyncedList | 'missing' | undefined>;
  /** The offsets of a time zone by the rules of the server. Throws `source-refused`. */
  zone(name: string): Promise<CopyZone>;
  /**
   * Waits before a further round, so that it is not answered by a server that still has the former
   * version.
   */
  settle(): Promise<void>;
}

export interface SourceOptions {
  readonly retry?: RetryOptions;
  readonly signal?: AbortSignal | undefined;
  /** Elements of a page: 10,000 by default, which is the most. */
  readonly pageSize?: number;
  /** Whether to read points; absent: yes. */
  readonly points?: boolean;
  /** Called when the server lacks a list. */
  readonly onMissing?: (list: CopyList) => void;
}

/** `url`: base URL of a variant. Sends nothing. Throws `option-malformed`. */
export function openSource(url: string, key: string, options: SourceOptions = {}): SyncSource {
  const { retry = {}, signal, pageSize = PAGE_SIZE, points = true, onMissing } = options;
  const base = url.replace(/\/+$/, '').replace(/\/v1$/, '');
  const versions = new Set<string>();
  const fetch = fetchNoting(versions);
  const client = openOrRefuse({ baseUrl: base, key, retry, fetch });
  const request = async (of: CopyList, cursor: string | undefined, most: number, etag?: string) => {
    const baseUrl = of === 'points' ? `${base.replace(/\/[ab]$/, '')}/insights` : base;
    // Each encoding has its own entity tag.
    const origin = { baseUrl, key, headers: { 'accept-encoding': 'identity' }, fetch };
    const requestSized = (size: number) => {
      const query = { limit: String(size), cursor };
      const wish = { path: LIST_PATHS[of], query, accept: MEDIA_TYPES.ndjson, etag, signal };
      return retrying(() => pageOf(origin, wish, size), retry, signal);
    };
    return await inSmallerPages(most, requestSized);
  };
  return {
    ...{ base, versions },
    changes: (token) => told(client.sync({ token, pageSize, signal })),
    async list(of, tag) {
      if (of === 'points' && !points) return 'missing';
      try {
        const first = await request(of, undefined, pageSize, tag);
        if (first === undefined) return undefined;
        const next = (cursor: string, size: number) => request(of, cursor, size);
        return { tag: first.tag, pages: told(followPages(first, next)) };
      } catch (error) {
        if (of !== 'points' || !lacksPoints(error, tag)) refuse(error);
        onMissing?.(of);
        return 'missing';
      }
    },
    async zone(name) {
      const baseUrl = `${base.replace(/\/[ab]$/, '')}/insights`;
      const wish = { path: INSIGHTS_PATHS.getZone, query: { zone: name }, accept: MEDIA_TYPES.json, signal };
      const ask = async () => await readSmall(await send({ baseUrl, key, fetch }, wish), signal);
      return readZone(name, await retrying(ask, retry, signal).catch(refuseZone(name)));
    },
    settle: () => pause(SETTLING_MS, signal),
  };
}

/**
 * Whether the server is of an earlier version, or a different service is at the URL of points: for
 * example a proxy that passes on only the variant. A copy that had points keeps them until the
 * proxy works again. `tag`: that of the points in the copy.
 */
function lacksPoints(error: unknown, tag: string | undefined): boolean {
  if (error instanceof ProblemError && error.status === 404) return true;
  if (tag !== undefined) return false;
  if (error instanceof ProblemError)
    return error.code === 'unknown' && error.status < 500 && !isPassing(error);
  return error instanceof AnswerError && (error.code === 'redirected' || error.code === 'unreadable');
}

/** Every response with data names its version, also one without changes. */
function fetchNoting(versions: Set<string>): typeof globalThis.fetch {
  return async (...request) => {
    const response = await globalThis.fetch(...request);
    const version = response.headers.get('data-version');
    if (version !== null) versions.add(version);
    return response;
  };
}

/** The JSON of a response that is longer only if the server is hostile. */
async function readSmall(response: Response, signal: AbortSignal | undefined): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const bytes of readBytes(response, signal)) {
    chunks.push(bytes);
    length += bytes.length;
    if (length > MOST_BYTES) return undefined;
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    return undefined;
  }
}

/** Statements contain these values, so they must be what they should be. */
function readZone(name: string, answer: unknown): CopyZone {
  const { offsets }: { readonly offsets?: unknown } = Object(answer);
  const read = Array.isArray(offsets) && offsets.length <= MOST_OFFSETS ? offsets.map(readOffset) : [];
  const isAscending = read.every((one, at) => one !== undefined && one.from > (read[at - 1]?.from ?? NEVER));
  if (read.length > 0 && isAscending) return { name, offsets: read.flatMap((one) => one ?? []) };
  throw new AppError('source-refused', `The server has sent no offsets of ${name} that can be read.`);
}

function readOffset(one: unknown): CopyZone['offsets'][number] | undefined {
  const { start, seconds }: { readonly start?: unknown; readonly seconds?: unknown } = Object(one);
  const from = start === null ? EARLIEST_SECONDS : Date.parse(String(start)) / 1000;
  const isOffset =
    typeof seconds === 'number' && Number.isInteger(seconds) && Math.abs(seconds) < DAY_SECONDS;
  return isOffset && Number.isInteger(from) ? { from, offset: seconds } : undefined;
}

function refuseZone(name: string): (error: unknown) => never {
  return (error) => {
    const status = error instanceof ProblemError ? error.status : undefined;
    if (status !== 400 && status !== 404) refuse(error);
    const reason =
      status === 400
        ? `it knows no time zone ${name}. Use a name like Europe/Vienna.`
        : 'it has no offsets of time zones beside this URL. Leave --zone out, or update the server.';
    throw new AppError('source-refused', `Cannot read from the server: ${reason}`, { cause: error });
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
  // A 304 has no media type to check.
  const response = await (request.etag === undefined ? send : sendRaw)(origin, request);
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
function openOrRefuse(options: ClientOptions) {
  try {
    return options.baseUrl.endsWith('/b')
      ? openClient({ ...options, variant: 'b' })
      : openClient({ ...options, variant: 'a' });
  } catch (error) {
    if (error instanceof TypeError) throw new AppError('option-malformed', error.message, { cause: error });
    throw error;
  }
}

const PASSING: readonly ErrorCode[] = ['copy-busy', 'database-away', 'chunks-away', 'data-unreadable'];

/** Whether a later attempt may succeed: the server or the target was busy, away or changing. */
export function passes(error: unknown): boolean {
  if (!(error instanceof AppError)) return false;
  const { cause, code } = error;
  const isOfServer = cause instanceof CorkboardError && isPassing(cause);
  return isOfServer || PASSING.includes(code);
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
