/**
 * The form of responses in the fixture, the requests for them, and the imports that follow. The
 * program that made the fixture and the current test share this file.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { type Bundle, EMPTY_BUNDLE } from '../model/bundle.ts';
import { get, nextOf } from '../model/client.ts';

export const DUMP = join(import.meta.dirname, 'corkboard-0.1.sql.gz');
export const CAPTURED = join(import.meta.dirname, 'captured.json.gz');

/** Longer bodies are kept as their digest. */
const LONGEST_BODY = 1_500;

export interface Captured {
  /** Name of the key. */
  readonly key: string;
  readonly path: string;
  readonly status: number;
  readonly etag: string | null;
  readonly link: string | null;
  readonly syncToken: string | null;
  readonly body: string;
}

export interface Fixture {
  /** Keys by name. */
  readonly keys: Readonly<Record<string, string>>;
  readonly before: readonly Captured[];
  /** After the imports: the responses to earlier cursors and sync tokens. */
  readonly after: readonly Captured[];
}

export async function readFixture(): Promise<Fixture> {
  return JSON.parse(gunzipSync(await readFile(CAPTURED)).toString());
}

/** One response, without the values that differ between requests, or between machines. */
export async function capture(
  url: string,
  keys: Fixture['keys'],
  key: string,
  path: string,
): Promise<Captured> {
  const reply = await get(url + path, keys[key]);
  const text = reply.text.replace(/,"request_id":"[^"]+"|"zoneData":"[^"]+",/, '');
  const digest = () => `sha256 ${createHash('sha256').update(text).digest('hex')} of ${text.length}`;
  return {
    ...{ key, path, status: reply.status, etag: reply.headers.get('etag'), link: reply.headers.get('link') },
    syncToken: reply.headers.get('sync-token'),
    body: text.length > LONGEST_BODY ? digest() : text,
  };
}

/** A response and all pages that follow it. */
export async function capturePages(
  url: string,
  keys: Fixture['keys'],
  key: string,
  path: string,
): Promise<Captured[]> {
  const pages: Captured[] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const page: Captured = await capture(url, keys, key, next);
    pages.push(page);
    next = nextPath(page);
  }
  return pages;
}

export function nextPath({ status, link, syncToken, etag, body }: Captured): string | undefined {
  const headers = new Headers(link === null ? {} : { link });
  if (syncToken !== null) headers.set('sync-token', syncToken);
  if (etag !== null) headers.set('etag', etag);
  return nextOf({ status, headers, text: body });
}

/** Values for the paths of an organization. */
export interface Named {
  readonly boards: readonly bigint[];
  readonly users: readonly bigint[];
  readonly lti: string;
  readonly course: string;
  readonly property: string;
  readonly value: string;
  /** The page size for events. */
  readonly limit: number;
}

export const UPRIGHT = 9_007_199_254_740_993n;
export const ORGANIZATIONS: Readonly<Record<string, Named>> = {
  small: {
    ...{ boards: [7n, 8n, 9n, 12n], users: [1n, 5n, 3n, UPRIGHT, 99n] },
    ...{ lti: 'lti-8', course: 'C 8', property: 'sis', value: 'B-1', limit: 2 },
  },
  Quantum: {
    ...{ boards: [1n, 2n, 58n], users: [1_000_007n, 1_000_027n, 1_000_003n] },
    ...{ lti: 'lti-0001', course: 'COURSE-0001', property: 'sis_user_id', value: 'QUA000007', limit: 300 },
  },
  later: {
    ...{ boards: [1n], users: [1n], lti: 'x', course: 'x', property: 'x', value: 'x', limit: 5 },
  },
};

/** Paths whose responses are whole. */
export function pathsOf({ boards, users, lti, course, property, value }: Named): string[] {
  const range = 'start=1000&end=1524700000000';
  return [
    ...['/a/v1/boards', '/b/v1/boards', '/a/v1/users', '/b/v1/users', `/a/v1/boards?${range}`],
    ...['/a/v1/events', '/b/v1/events', '/a/v1/events/pins', '/b/v1/pins', `/b/v1/events?${range}`],
    ...['/a/v1/events?since=start', `/a/v1/users?${range}`, '/a/v1/events?format=csv'],
    ...boards.flatMap((id) => [`/a/v1/events/board/${id}`, `/b/v1/board/${id}`, `/a/v1/board/${id}/points`]),
    ...boards.map((id) => `/a/v1/board/${id}/points?${range}`),
    ...users.flatMap((id) => [`/a/v1/events/user/${id}`, `/b/v1/user/${id}`, `/a/v1/user/${id}/points`]),
    ...users.map((id) => `/a/v1/user/${id}/points?key=board`),
    ...[`/a/v1/lti/${lti}/points`, `/a/v1/course/${encodeURIComponent(course)}/points`],
    `/a/v1/lms_user/${property}/${value}/points`,
    ...['overview', 'activity', 'returning', 'heat-map', 'boards', 'users'].map(
      (name) => `/insights/v1/${name}`,
    ),
    ...boards.flatMap((id) =>
      ['participation', 'pins', 'interactions'].map((name) => `/insights/v1/boards/${id}/${name}`),
    ),
    ...boards.flatMap((board) => users.map((user) => `/insights/v1/boards/${board}/users/${user}/ledger`)),
  ];
}

/** Paths whose responses are pages. */
export function pagedPathsOf({ boards: [board], users: [user], limit }: Named): string[] {
  return [
    ...[`/a/v1/events?limit=${limit}`, `/b/v1/events?limit=${limit + 1}`, `/a/v1/users?limit=${limit}`],
    ...[`/a/v1/boards?limit=2`, `/a/v1/events/board/${board}?limit=${limit}`],
    `/b/v1/user/${user}?limit=${limit}`,
  ];
}

/**
 * The requests after the imports: the second page from before, the changes since, and everything
 * again with a full key.
 */
export function laterPathsOf(before: readonly Captured[]): { key: string; path: string }[] {
  const first = before.filter(({ path }) => !path.includes('cursor='));
  const events = first.filter(({ path }) => /\/events\?limit=\d+$/.test(path));
  return [
    ...events.flatMap((page) => {
      const next = nextPath(page);
      const since = new URLSearchParams({ since: page.syncToken ?? '' });
      const [address] = page.path.split('?');
      return [
        ...(next === undefined ? [] : [{ key: page.key, path: next }]),
        ...(page.syncToken === null ? [] : [{ key: page.key, path: `${address}?${since}` }]),
      ];
    }),
    ...first.filter(({ key }) => key.endsWith('.full')).map(({ key, path }) => ({ key, path })),
  ];
}

/** The last import of each organization, by the old version and by the one under test. */
export const INCREMENTS: Readonly<Record<string, Bundle>> = {
  small: {
    ...EMPTY_BUNDLE,
    users: [
      { id: 1n, email: 'ann@new.example', name: 'Ann Other' },
      { id: 6n, email: 'six@x.example', name: 'Six', lms: { sis: 'S-6' } },
    ],
    boards: [{ id: 12n, title: 'Twelve', lti_id: 'lti-12' }],
    events: [
      {
        ...{ type: 'pin', action: 'created', owner_id: 1n, actor_id: 1n, board_id: 7n, pin_id: 70n },
        timestamp: '1970-01-01T00:00:01.500+00:00',
      },
      {
        ...{ type: 'pin', action: 'commented', owner_id: 5n, actor_id: 3n, board_id: 7n, pin_id: 70n },
        timestamp: '2020-01-01T00:00:01.500+00:00',
      },
      {
        ...{ type: 'pin', action: 'shelved', owner_id: 6n, actor_id: 6n, board_id: 12n, pin_id: 71n },
        timestamp: '2020-01-01T00:00:02.500+00:00',
      },
    ],
    memberships: [{ board_id: 12n, user_id: 4n }],
    adjustments: [
      { user_id: 5n, board_id: 7n, points: 4, timestamp: '2020-01-01T00:00:00+00:00', reason: 'kind' },
    ],
  },
  Quantum: {
    ...EMPTY_BUNDLE,
    users: [{ id: 1_000_007n, email: 'riker@quantumcomputing.example', name: 'Will Riker' }],
    events: [
      {
        ...{ id: 999_999n, type: 'pin', action: 'commented', owner_id: 1_000_007n, actor_id: 1_000_027n },
        ...{ board_id: 1n, pin_id: 1_000_001n, timestamp: '2018-04-01T00:00:00.000+00:00' },
      },
    ],
  },
};
