/**
 * A small server of the API that responds honestly, unless a test sets a trick: then it sends any
 * bytes that the trick returns, complete or not. For tests of pulls from untrusted servers.
 */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** A response of the server. */
export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A function makes the chunks, again for each request; each is sent as soon as it is made. */
  readonly body: string | Uint8Array | (() => AsyncIterable<string>);
  /** Breaks the connection instead of ending the response. */
  readonly isCut?: boolean;
  /** Bytes for the socket itself, status line and all, instead of a response. */
  readonly isRaw?: boolean;
}

export interface Asked {
  readonly path: string;
  readonly query: URLSearchParams;
  /** The number of earlier requests for this path. */
  readonly before: number;
  /** The entity tag that the client sent. */
  readonly tag: string | undefined;
}

/**
 * `plain` has the contract only; `tokens` has `Sync-Token`, pages and entity tags (decision 19).
 */
export type HostileManner = 'plain' | 'tokens';

export interface HostileServer {
  /** Base of Variant A. */
  readonly url: string;
  /** Requested paths with their queries. */
  readonly asked: string[];
  /** Returns the response; undefined: the honest one. */
  trick: (asked: Asked) => Reply | undefined;
  /** Part of the entity tags: a change of it looks like a publication. */
  version: string;
  close(): Promise<void>;
}

export const ADDRESS = 'ada@hostile.example';
export const BOARD = 7;
const PERSON = `{"id":1,"email":"${ADDRESS}","name":"Ada King","role":"user","class_role":""}`;

/** An event of the only user on the only board. */
export function eventOf(more = '', second = 0): string {
  const organization = '{"id":3,"name":"Hostile","domain":"","category_id":0}';
  const time = `2024-01-01T00:00:${String(second).padStart(2, '0')}.000+00:00`;
  return `{"type":"board","action":"followed","owner":${PERSON},"actor":${PERSON},"organization":${organization},"board":{"id":${BOARD},"title":"Seven","category":"Bookmarks"},"timestamp":"${time}"${more}}`;
}

/** A page of events with the cursor of the next page. */
export function pageOf(events: readonly string[], cursor?: string): Reply {
  const next = cursor === undefined ? undefined : encodeURIComponent(cursor);
  return {
    headers: {
      'sync-token': 'token',
      ...(next !== undefined && { link: `</a/v1/events?since=start&cursor=${next}>; rel="next"` }),
    },
    body: events.map((event) => `${event}\n`).join(''),
  };
}

export function syncEvent(second: number): string {
  return eventOf(`,"sync_id":"event ${second}"`, second);
}

const HONEST: Readonly<Record<string, string>> = {
  '/a/v1/users': `[{"id":1,"first_name":"Ada","last_name":"King","email":"${ADDRESS}"}]`,
  '/b/v1/users': `[{"id":1,"email":"${ADDRESS}","role":"user","name":"Ada King"}]`,
  '/a/v1/boards': `[{"id":${BOARD},"title":"Seven"}]`,
  '/b/v1/boards': `[{"id":${BOARD},"title":"Seven","category":"Bookmarks"}]`,
  '/a/v1/events': `[${eventOf()}]`,
  [`/a/v1/board/${BOARD}/points`]: `{"${ADDRESS}":{"user_id":1,"board_id":${BOARD},"email":"${ADDRESS}","total_points":3,"participation_score":2}}`,
};

export async function openHostileServer(manner: HostileManner): Promise<HostileServer> {
  const times = new Map<string, number>();
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const before = times.get(url.pathname) ?? 0;
    times.set(url.pathname, before + 1);
    hostile.asked.push(url.pathname + url.search);
    const version = `"${hostile.version}"`;
    const tag = request.headers['if-none-match'];
    const trick = hostile.trick({ path: url.pathname, query: url.searchParams, before, tag });
    const reply = trick ?? honest(manner, url, version, tag === version);
    send(response, reply).catch(() => response.destroy());
  });
  const hostile: HostileServer = {
    url: `http://127.0.0.1:${await listen(server)}/a`,
    asked: [],
    trick: () => undefined,
    version: '1',
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return hostile;
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

function honest(
  manner: HostileManner,
  { pathname, searchParams }: URL,
  tag: string,
  isKnown: boolean,
): Reply {
  const body = HONEST[pathname];
  if (body === undefined || (manner === 'plain' && pathname.startsWith('/b')))
    return { status: 404, body: '{}' };
  if (manner === 'plain') return { body };
  if (searchParams.has('since')) return pageOf(searchParams.get('since') === 'start' ? [syncEvent(0)] : []);
  if (isKnown) return { status: 304, body: '' };
  const headers = { etag: tag, ...(pathname.endsWith('/events') && { 'sync-token': 'token' }) };
  return { headers, body };
}

async function send(response: ServerResponse, reply: Reply): Promise<void> {
  const { status = 200, headers = {}, body, isCut = false, isRaw = false } = reply;
  const chunks = Readable.from(typeof body === 'function' ? body() : [body]);
  if (isRaw && response.socket !== null) {
    await pipeline(chunks, response.socket);
    return;
  }
  response.writeHead(status, headers);
  await pipeline(chunks, response, { end: false });
  if (isCut) response.destroy();
  else response.end();
}

/** Repeats a text without end. */
export function endlessly(beginning: string, again: string): () => AsyncGenerator<string> {
  return async function* () {
    yield beginning;
    for (;;) yield again;
  };
}

/** Sends a byte at intervals, without end. */
export async function* dribbling(): AsyncGenerator<string> {
  yield '[';
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    yield ' ';
  }
}
