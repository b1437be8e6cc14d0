/** A plain HTTP client for the API over a real socket, and the URLs of the contract's queries. */
import assert from 'node:assert/strict';
import { Agent, type IncomingMessage, request } from 'node:http';
import type { TimeRange } from '../../src/dataset/query.ts';
import { type ParsedRequest, pathOf, type Variant } from './answers.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Much cheaper than `fetch`, because a suite sends thousands of requests. */
const agent = new Agent({ keepAlive: true });

/** GET without compression; without a `key`, it sends no `apikey` header. */
export async function get(
  url: string,
  key: string | undefined,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  const sent = { 'accept-encoding': 'identity', ...(key === undefined ? {} : { apikey: key }), ...headers };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request(url, { agent, headers: sent }, resolve).on('error', reject).end();
  const response = await promise;
  const chunks: Buffer[] = await response.toArray();
  const received = new Headers();
  for (const [name, values = []] of Object.entries(response.headersDistinct)) {
    for (const value of values) received.append(name, value);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  return { status: response.statusCode ?? 0, headers: received, text };
}

/**
 * The common response of several servers; fails if they differ. Bodies are compared for 200 only.
 */
export async function getSame(urls: readonly string[], path: string, key: string): Promise<Reply> {
  const [first, ...others] = await Promise.all(urls.map((url) => get(url + path, key)));
  assert.ok(first);
  for (const other of others) {
    assert.equal(other.status, first.status, path);
    if (first.status === 200) assert.equal(other.text, first.text, path);
  }
  return first;
}

/** Path and query below `http://host`; `undefined` if the variant has no such route. */
export function urlPathOf(
  variant: Variant,
  question: ParsedRequest,
  range: TimeRange = {},
): string | undefined {
  const path = pathOf(variant, question);
  if (path === undefined) return undefined;
  const query = new URLSearchParams();
  if (range.startMs !== undefined) query.set('start', String(range.startMs));
  if (range.endMs !== undefined) query.set('end', String(range.endMs));
  if ('keyedBy' in question && question.keyedBy === 'board') query.set('key', 'board');
  return `/${variant}${path}${query.size === 0 ? '' : `?${query}`}`;
}

/** Path and query of the next page; `undefined` on the last page (decision 18). */
export function nextOf(reply: Reply): string | undefined {
  const link = reply.headers.get('link');
  if (link === null) return undefined;
  const match = /^<([^>]+)>; rel="next"$/.exec(link);
  assert.ok(match, `Link has an unexpected form: ${link}`);
  return match[1];
}

/** Checks the header fields of every 200 (decisions 15, 16, 17). */
export function assertSuccess(reply: Reply, contentType = 'application/json'): void {
  assert.equal(reply.status, 200, reply.text);
  assert.equal(reply.headers.get('content-type')?.split(';')[0], contentType);
  assert.match(reply.headers.get('etag') ?? '', /^"[^"]{16,}"$/);
  assert.equal(reply.headers.get('cache-control'), 'private, no-cache');
  const vary = (reply.headers.get('vary') ?? '').toLowerCase().split(/,\s*/);
  for (const name of ['apikey', 'accept', 'accept-encoding']) assert.ok(vary.includes(name), `Vary: ${name}`);
  assert.equal(Number(reply.headers.get('content-length')), Buffer.byteLength(reply.text));
}

/** Checks a problem document (RFC 9457, decision 13) and returns its members by name. */
export function assertProblem(reply: Reply, status: number, code: string): ReadonlyMap<string, unknown> {
  assert.equal(reply.status, status, reply.text);
  assert.equal(reply.headers.get('content-type')?.split(';')[0], 'application/problem+json');
  assert.equal(reply.headers.get('etag'), null);
  const members = new Map(Object.entries<unknown>(JSON.parse(reply.text)));
  assert.equal(members.get('status'), status);
  assert.equal(members.get('code'), code);
  for (const name of ['type', 'title', 'detail', 'instance']) {
    assert.equal(typeof members.get(name), 'string', name);
  }
  return members;
}
