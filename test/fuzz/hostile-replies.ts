/**
 * The tricks of a server that a pull must survive: replies that lie, never end, or are not replies.
 * All are plain data.
 */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { Random } from '../../bench/random.ts';
import type { Recording } from './honest-server.ts';
import { changeBytes } from './mutations/bytes.ts';
import { mutateJson } from './mutations/json.ts';
import { hostileText, PATHS } from './mutations/values.ts';

export type Route = 'users' | 'boards' | 'events' | 'points';

export type Deed =
  /** Replaces the status, the header fields and the body (Base64). */
  | {
      readonly kind: 'reply';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string | undefined;
    }
  /** Replaces the content length of the honest reply. */
  | { readonly kind: 'length'; readonly value: string }
  | { readonly kind: 'cut'; readonly share: number }
  /**
   * The honest list, repeated `times` times, ended by closing the connection, which HTTP allows.
   */
  | { readonly kind: 'unsized'; readonly times: number }
  /** Repeats `again` after `beginning`, as if there were no end. */
  | { readonly kind: 'endless'; readonly beginning: string; readonly again: string }
  | { readonly kind: 'slow' }
  /** Replaces the whole reply, including its head (Base64). */
  | { readonly kind: 'bytes'; readonly bytes: string };

export interface Trick {
  /** Absent: for every route. */
  readonly route: Route | undefined;
  /** Only for this request of the route, counted from 0; absent: for every request. */
  readonly nth: number | undefined;
  readonly does: Deed;
}

const ROUTES = ['users', 'boards', 'events', 'points'] as const;

export function hostileTricks(random: Random, recording: Recording): readonly Trick[] {
  return Array.from({ length: 1 + random.skewed(4) }, () => {
    const route = random.below(10) === 0 ? undefined : random.pick(ROUTES);
    return {
      route,
      nth: random.below(3) === 0 ? random.below(3) : undefined,
      does: hostileDeed(random, route ?? random.pick(ROUTES), recording),
    };
  });
}

function hostileDeed(random: Random, route: Route, recording: Recording): Deed {
  if (route === 'boards' && random.below(4) === 0) {
    return reply({ body: base64(withPathAsId(random, bodyOf(random, route, recording).toString('utf8'))) });
  }
  const kind = random.below(20);
  const body = () => base64(mutatedBody(random, bodyOf(random, route, recording)));
  if (kind < 9) return reply({ body: body() });
  if (kind < 12)
    return reply({ headers: hostileHeaders(random), body: random.below(2) === 0 ? body() : undefined });
  if (kind === 12)
    return reply({ status: random.pick(STATUSES), headers: hostileHeaders(random), body: body() });
  if (kind === 13) return { kind: 'length', value: random.pick(LENGTHS) };
  if (kind === 14 && random.below(2) === 0) return { kind: 'unsized', times: random.pick([1, 100, 20_000]) };
  if (kind === 14) return { kind: 'cut', share: random.next() };
  if (kind === 15) return endless(random, route);
  if (kind === 16) return packed(random);
  if (kind === 17) return { kind: 'bytes', bytes: base64(garbage(random)) };
  if (kind === 18) return random.below(8) === 0 ? { kind: 'slow' } : reply({ body: '' });
  return reply({ headers: { link: nextLink(random) } });
}

function reply(more: Partial<Extract<Deed, { kind: 'reply' }>>): Deed {
  return { kind: 'reply', status: 200, headers: {}, body: undefined, ...more };
}

function base64(bytes: Uint8Array | string): string {
  return Buffer.from(bytes).toString('base64');
}

function bodyOf(random: Random, route: Route, { bodies, events }: Recording): Buffer {
  if (route === 'events' && random.below(2) === 0) return Buffer.from(`${events.join('\n')}\n`);
  const paths = [...bodies.keys()].filter((path) => path.endsWith(`/${route}`));
  return Buffer.from(bodies.get(random.pick(paths)) ?? '');
}

const LIST_ID = /"id":-?\d+/g;

function mutatedBody(random: Random, body: Buffer): Buffer {
  let changed = body;
  for (let count = 1 + random.skewed(4); count > 0; count--) {
    const kind = random.below(10);
    const json = kind < 6 ? mutatedJson(random, changed.toString('utf8')) : undefined;
    if (json !== undefined) changed = Buffer.from(json);
    else if (kind < 8) changed = Buffer.from(withPathAsId(random, changed.toString('utf8')));
    else changed = changeBytes(random, changed, body);
  }
  return changed;
}

/** Mutates a whole document, or one of several lines. */
function mutatedJson(random: Random, text: string): string | undefined {
  const whole = mutateJson(random, text);
  if (whole !== undefined) return whole;
  const lines = text.split('\n');
  const at = random.below(lines.length);
  const line = mutateJson(random, lines[at] ?? '');
  return line === undefined ? undefined : lines.with(at, line).join('\n');
}

function withPathAsId(random: Random, text: string): string {
  const places = [...text.matchAll(LIST_ID)];
  if (places.length === 0) return text;
  const { 0: found, index } = random.pick(places);
  return `${text.slice(0, index)}"id":${JSON.stringify(hostilePath(random))}${text.slice(index + found.length)}`;
}

/** A path from the folder of the pull up into one of the folders that contain canaries. */
function hostilePath(random: Random): string {
  if (random.below(2) === 0) return random.pick(PATHS);
  const up = '../'.repeat(4 + random.below(6));
  return `${random.pick(['x', '1', ''])}/${up}${random.pick(['canary/owned', 'canary/package', 'package', 'new'])}`;
}

const STATUSES = [
  100, 103, 200, 204, 205, 206, 226, 300, 301, 302, 304, 307, 308, 400, 401, 404, 410, 418, 429, 500, 503,
  599,
];
const LENGTHS = [
  '0',
  '1',
  '-1',
  '99999999',
  '18446744073709551616',
  '1e3',
  '0x10',
  '+5',
  'x',
  ' 7',
  '5, 6',
  '',
];
const TARGETS = [
  'file:///etc/passwd',
  'http://127.0.0.1:9/',
  '/a/v1/events',
  '//127.0.0.1:9/x',
  'http://[::1]:9/',
  'data:,[]',
  '../../../x',
];

function hostileHeaders(random: Random): Record<string, string> {
  const fields: readonly (() => Record<string, string>)[] = [
    () => ({ etag: fieldValue(random) }),
    () => ({ etag: `"${'e'.repeat(8_000)}"` }),
    () => ({ 'sync-token': fieldValue(random) }),
    () => ({ 'sync-token': 't'.repeat(12_000) }),
    () => ({ link: nextLink(random) }),
    () => ({ location: random.pick(TARGETS) }),
    () => ({
      'retry-after': random.pick(['0', '-1', 'x', '0.01', 'Thu, 01 Jan 1970 00:00:00 GMT', '1e9x', '٣']),
    }),
    () => ({ 'content-type': fieldValue(random) }),
    () => ({
      'content-encoding': random.pick(['identity', 'gzip', 'br', 'zstd', 'deflate', 'x', 'gzip, gzip']),
    }),
    () => ({ 'transfer-encoding': random.pick(['chunked', 'gzip, chunked', 'x']) }),
    () => ({ 'set-cookie': fieldValue(random), [`x-${'a'.repeat(200)}`]: 'b' }),
  ];
  return Object.assign({}, ...Array.from({ length: 1 + random.below(3) }, () => random.pick(fields)()));
}

/** Without the characters that would end the field: a broken head is a separate trick. */
function fieldValue(random: Random): string {
  return hostileText(random)
    .replaceAll(/[^\x20-\x7e\x80-\xff]/g, '')
    .slice(0, 4_000);
}

function nextLink(random: Random): string {
  const cursor = random.pick([
    'same',
    '',
    '../../x',
    'c'.repeat(6_000),
    '%00',
    '%zz',
    '4',
    fieldValue(random).replaceAll('>', ''),
  ]);
  return random.pick([
    `</a/v1/events?since=start&cursor=${cursor}>; rel="next"`,
    `<http://127.0.0.1:9/a/v1/events?cursor=${cursor}>; rel=next`,
    `<?cursor=${cursor}&cursor=${cursor}>; rel="next", <x>; rel="prev"`,
    `<${'<'.repeat(5_000)}`,
    `<>; rel="next"`,
  ]);
}

function endless(random: Random, route: Route): Deed {
  const [beginning, again] = random.pick([
    ['[', '{"id":1,"title":"t","category":""},'],
    ['{', '"1":{"user_id":1},'],
    ['[{"id":1,"title":"', 'a'.repeat(1_000)],
    ['', `${'['.repeat(1_000)}`],
    ['', '\n'],
    ['', route === 'events' ? '{"type":"board","sync_id":"x"}\n' : ' '],
  ]);
  return { kind: 'endless', beginning: beginning ?? '', again: again ?? '' };
}

/** A compressed body, although the pull requests no encoding. */
function packed(random: Random): Deed {
  const bomb = Buffer.alloc(random.pick([1e6, 50e6]), ' ');
  const [encoding, bytes] = random.pick([
    ['gzip', () => gzipSync(bomb, { level: 1 })],
    ['deflate', () => deflateSync(bomb, { level: 1 })],
    ['br', () => brotliCompressSync(bomb.subarray(0, 1e6))],
    ['gzip', () => Buffer.from('no gzip')],
  ] as const);
  return reply({ headers: { 'content-encoding': encoding }, body: base64(bytes()) });
}

function garbage(random: Random): Buffer {
  const heads = [
    'HTTP/1.1 200 OK\r\n\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n[]\n',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n[]',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n[]\r\nzz\r\n',
    'HTTP/1.1 200 OK\r\netag: a\r\n b\r\n\r\n[]',
    'HTTP/1.1 200 OK\r\netag: \x01\x00\r\n\r\n[]',
    `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(70_000)}\r\n\r\n[]`,
    'HTTP/1.1 999 \r\n\r\n',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]',
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n[]',
    'HTTP/9.9 200 OK\r\n\r\n[]',
    'SSH-2.0-x\r\n',
    '[]',
    '',
  ];
  const head = Buffer.from(random.pick(heads), 'latin1');
  return random.below(2) === 0 ? head : changeBytes(random, head, head);
}
