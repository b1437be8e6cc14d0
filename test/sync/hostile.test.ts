/** A sync refuses the records of a foreign or hostile server, and leaves the copy as it was. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AppError } from '../../src/domain/app-error.ts';
import { openSource } from '../../src/sync/source.ts';
import { temporaryFolder } from '../cli/command.ts';
import { answering, KEY, sendLines } from '../client/odd-server.ts';
import { type CopyPlace, type CopyRow, PLACES } from './copies.ts';
import { update } from './whole.ts';

const folder = temporaryFolder();
const TABLES = ['events', 'users', 'boards', 'points'] as const;
/** Nearly as long as a line may be. */
const MEGABYTES = 15 * 1024 * 1024;

/** The lines of each list, as JSON. */
type Responses = Readonly<Record<(typeof TABLES)[number], readonly string[]>>;

const HONEST: Responses = {
  events: [eventWith({})],
  users: [userWith({})],
  boards: [JSON.stringify({ id: 7, title: 'Seven', category: 'Bookmarks' })],
  points: [pointsWith({})],
};

function eventWith(members: Readonly<Record<string, unknown>>): string {
  const person = { id: 1, email: 'ada@example.org', name: 'Ada', role: 'user', class_role: '' };
  return JSON.stringify({
    ...{ type: 'pin', action: 'visited', owner: person, actor: person },
    organization: { id: 3, name: 'School', domain: '', category_id: 0 },
    pin: { id: 70, activity: 'visited', title: 'Pin', body: '', web_url: '', image_url: '', tags: ['a'] },
    board: { id: 7, title: 'Seven', category: 'Bookmarks' },
    timestamp: '2018-03-12T17:00:45.567+00:00',
    ...{ sync_id: 'one', ...members },
  });
}

function userWith(members: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ id: 1, email: 'ada@example.org', role: 'user', name: 'Ada', ...members });
}

function pointsWith(members: Readonly<Record<string, unknown>>): string {
  const numbers = { total_points: 3, participation_score: 2 };
  return JSON.stringify({ user_id: 1, board_id: 7, board_title: 'Seven', ...numbers, ...members });
}

/** Members of an event. */
const EVENTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'a word and a number as a time': { timestamp: 'foo 1' },
  'a time in words': { timestamp: 'Dec 25, 1995 (x)' },
  'a time before the first year': { timestamp: '-000005-01-01T00:00:00.000Z' },
  'a time after the last year': { timestamp: '+012345-01-01T00:00:00.000Z' },
  'a day that does not exist': { timestamp: '2018-02-29T00:00:00.000+00:00' },
  'a time that an offset moves before the first year': { timestamp: '0001-01-01T00:00:00.000+01:00' },
  'a time without an offset': { timestamp: '2018-03-12T17:00:45.567' },
  'a time as digits': { timestamp: '1520874045567' },
  'a time as a number': { timestamp: 1520874045567 },
  'no time': { timestamp: null },
  'an empty sync_id': { sync_id: '' },
  'a sync_id of 257 characters': { sync_id: 'x'.repeat(257) },
  'a sync_id of megabytes': { sync_id: 'x'.repeat(MEGABYTES) },
  'a sync_id of megabytes with escapes': { sync_id: '"'.repeat(MEGABYTES / 2) },
  'a NUL character in a sync_id': { sync_id: 'a\0' },
  'half of a surrogate pair in a sync_id': { sync_id: 'a\ud800' },
  'a sync_id that is true': { sync_id: true },
  'a NUL character in a text': { board: { id: 7, title: 'a\0b' } },
  'half of a surrogate pair in a text': { actor: { id: 1, name: '\udc00' } },
  'a NUL character in a tag': { pin: { id: 70, tags: ['a', 'b\0'] } },
  'half of a surrogate pair in a tag': { pin: { id: 70, tags: ['\ud83d'] } },
  'tags that are a text': { pin: { id: 70, tags: 'a' } },
  'tags within tags': { pin: { id: 70, tags: [['a']] } },
  'a title that is a number': { board: { id: 7, title: 5 } },
  'a title that is an object': { board: { id: 7, title: { text: 'a' } } },
  'an actor that is a list': { actor: [1] },
  'an id that is a fraction': { actor: { id: 1.5 } },
  'an id that is a word': { actor: { id: 'seven' } },
  'an id that is true': { board: { id: true } },
  'an address of megabytes': { actor: { id: 1, email: 'x'.repeat(MEGABYTES) } },
};

/** Changes of events, as JSON. */
const CHANGES: Readonly<Record<string, string>> = {
  'an id above 64 bits': eventWith({}).replace('"id":1,', '"id":9223372036854775808,'),
  'an id below 64 bits': eventWith({}).replace('"id":1,', '"id":-9223372036854775809,'),
  'an id of a million digits': eventWith({}).replace('"id":1,', `"id":${'9'.repeat(1e6)},`),
  'a title nested a million levels deep': eventWith({}).replace(
    '"title":"Seven"',
    `"title":${'['.repeat(1e6)}${']'.repeat(1e6)}`,
  ),
  'a change that is a list': '["one"]',
  'a deletion with a sync_id of megabytes': `{"sync_id":"${'x'.repeat(MEGABYTES)}","deleted":true}`,
  'a deletion with a NUL character': '{"sync_id":"a\\u0000","deleted":true}',
  'a deletion with half of a surrogate pair': '{"sync_id":"\\ud800","deleted":true}',
  'an erasure of a user above 64 bits': '{"forgotten":{"user":9223372036854775808}}',
  'an erasure of a user that is a word': '{"forgotten":{"user":"seven"}}',
};

const USERS: Readonly<Record<string, string>> = {
  'an address of megabytes': userWith({ email: randomText(MEGABYTES) }),
  'an address that is a number': userWith({ email: 5 }),
  'a name with a NUL character': userWith({ name: 'a\0' }),
  'a user without an id': userWith({ id: null }),
  'a user that is a text': '"Ada"',
};

const POINTS: Readonly<Record<string, string>> = {
  'points that are a fraction': pointsWith({ total_points: 1.5 }),
  'points beyond exact numbers': pointsWith({ total_points: 2 ** 60 }),
  'points that are a list': pointsWith({ total_points: [3] }),
  'points of no board': pointsWith({ board_id: null }),
};

/** A text that does not become short by compression: PostgreSQL compresses what it indexes. */
function randomText(length: number): string {
  let state = 7;
  return Array.from({ length: 8000 }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return state.toString(36);
  })
    .join('')
    .slice(0, length);
}

const ODD: readonly (readonly [what: string, responses: Responses])[] = [
  ...Object.entries(EVENTS).map(([what, members]) => odd(what, 'events', eventWith(members))),
  ...Object.entries(CHANGES).map(([what, line]) => odd(what, 'events', line)),
  ...Object.entries(USERS).map(([what, line]) => odd(what, 'users', line)),
  ...Object.entries(POINTS).map(([what, line]) => odd(what, 'points', line)),
];

/** After an event that could be copied. */
function odd(what: string, list: keyof Responses, line: string): readonly [string, Responses] {
  const others = list === 'events' ? [eventWith({ sync_id: 'other' })] : [];
  return [what, { ...HONEST, events: [], [list]: [...others, line] }];
}

/** Whether the error is one sentence about the server, and not a bug. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof AppError) || error.code !== 'source-refused') return false;
  return /^(The server sends|Cannot read from the server: ).{1,200}\.$/.test(error.message);
}

async function rowsOf(place: CopyPlace): Promise<readonly (readonly CopyRow[])[]> {
  return await Promise.all(TABLES.map((table) => place.rows(table)));
}

for (const kind of PLACES) {
  describe(`a copy in ${kind.name} of a server that sends other records`, () => {
    it('is unchanged, and the server is named as the reason', async (t) => {
      let responses = HONEST;
      let runs = 0;
      const server = await answering(t, (response, { url = '' }) => {
        const list = TABLES.find((name) => url.includes(`/v1/${name}`)) ?? 'events';
        sendLines(response, responses[list], { 'sync-token': `token ${runs}` });
      });
      const source = openSource(`${server.url}/a`, KEY, { retry: { retries: 0 } });
      const place = await kind.make(folder);
      await update(place, source);
      const before = await rowsOf(place);
      assert.deepEqual(
        before.map((rows) => rows.length),
        [1, 1, 1, 1],
      );
      const others: Record<string, unknown> = {};
      for (const [what, some] of ODD) {
        responses = some;
        runs += 1;
        const error = await update(place, source).catch((reason: unknown) => reason);
        if (!isRefusal(error)) others[what] = error;
      }
      assert.deepEqual(others, {});
      assert.deepEqual(await rowsOf(place), before);
    });

    it('has the same values, however the server writes them', async (t) => {
      const timestamps = [
        '2018-03-12T18:00:45.567+01:00',
        '2018-03-12T17:00:45.567Z',
        '2018-03-12T17:00:45.567+00:00',
      ];
      const responses: Responses = {
        ...HONEST,
        events: timestamps.map((timestamp, at) => eventWith({ sync_id: `id ${at}`, timestamp })),
        users: [userWith({ id: '0007' }), userWith({ id: 7 }), userWith({ id: 0 })].concat(
          userWith({}).replace('"id":1', '"id":-0'),
        ),
      };
      const server = await answering(t, (response, { url = '' }) => {
        const list = TABLES.find((name) => url.includes(`/v1/${name}`)) ?? 'events';
        sendLines(response, responses[list], { 'sync-token': 'token' });
      });
      const place = await kind.make(folder);
      await update(place, openSource(`${server.url}/a`, KEY, { retry: { retries: 0 } }));
      const events = await place.rows('events');
      assert.deepEqual(
        events.map((row) => row['timestamp']),
        timestamps.map(() => Date.UTC(2018, 2, 12, 17, 0, 45, 567)),
      );
      assert.deepEqual((await place.rows('users')).map((row) => row['id']).sort(), ['0', '7']);
    });
  });
}

describe('offsets of a time zone from a hostile server', () => {
  const first = { start: null, seconds: 3600 };
  const after = (start: unknown, seconds: unknown) => ({ offsets: [first, { start, seconds }] });
  for (const [what, answer] of Object.entries({
    'no list': {},
    'an empty list': { offsets: [] },
    'a list of texts': { offsets: ['0'] },
    'more than a thousand': { offsets: new Array(1001).fill(first) },
    'a text as an offset': after('2026-03-29T01:00:00.000+00:00', '7200'),
    'an offset of a day': after('2026-03-29T01:00:00.000+00:00', 86_400),
    'a fraction of a second': after('2026-03-29T01:00:00.500+00:00', 7200),
    'no instant': after('soon', 7200),
    'instants that do not ascend': after(null, 7200),
    megabytes: { offsets: [first], more: 'x'.repeat(2 * 1024 * 1024) },
  })) {
    it(`are refused: ${what}`, async (t) => {
      const server = await answering(t, (response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(answer));
      });
      const source = openSource(`${server.url}/a`, KEY, { retry: { retries: 0 } });
      await assert.rejects(source.zone('Europe/Vienna'), (error) => {
        assert.ok(error instanceof AppError);
        assert.equal(error.message, 'The server has sent no offsets of Europe/Vienna that can be read.');
        return true;
      });
      assert.deepEqual(server.asked, ['/insights/v1/zone?zone=Europe%2FVienna']);
    });
  }
});
