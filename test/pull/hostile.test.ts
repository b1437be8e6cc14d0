/**
 * Servers that send invalid responses: a pull keeps nothing of them, and every pull ends
 * (decision 61).
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { BOARDS, EVENTS, HONEST, POINTS, prepareMirrors, USERS } from './hostile-mirror.ts';
import {
  type Asked,
  BOARD,
  dribbling,
  endlessly,
  eventOf,
  type HostileManner,
  pageOf,
  type Reply,
  syncEvent,
} from './hostile-server.ts';

const { newMirror } = prepareMirrors();

/**
 * The pull is refused with the reason, and a later pull from the honest server shows no trace of
 * the trick.
 */
async function assertRefused(
  manner: HostileManner,
  trick: (asked: Asked) => Reply | undefined,
  reason: RegExp,
) {
  const mirror = await newMirror(manner);
  mirror.server.trick = trick;
  await assert.rejects(mirror.lines(), (error: Error & { code?: string }) => {
    assert.equal(error.code, 'source-refused', error.stack);
    assert.match(error.message, reason);
    return true;
  });
  mirror.server.trick = () => undefined;
  assert.deepEqual(await mirror.lines(), HONEST);
}

/** Sends this body for one path and honest responses for all others. */
function at(wanted: string, reply: Reply | string): (asked: Asked) => Reply | undefined {
  return ({ path }) => (path === wanted ? (typeof reply === 'string' ? { body: reply } : reply) : undefined);
}

const INTEGER = /must be an integer of 64 bits/;
const DATE_TIME = /"timestamp" must be a date and time with an offset/;
const SYNC_ID = /"sync_id" must be text of 1 to 256 characters/;
const timeOf = (time: string) => eventOf().replace('2024-01-01T00:00:00.000+00:00', time);
const syncIdOf = (json: string) => `${eventOf(`,"sync_id":${json}`)}\n`;

describe('a pull from an untrusted server', () => {
  const bodies: readonly (readonly [what: string, path: string, body: Reply['body'], reason: RegExp])[] = [
    ['a board whose id is a path', BOARDS, '[{"id":"x/../../../owned","title":"t"}]', INTEGER],
    ['a board whose id is a fraction', BOARDS, '[{"id":1.5,"title":"t"}]', INTEGER],
    ['a board whose id has 65 bits', BOARDS, '[{"id":9223372036854775808,"title":"t"}]', INTEGER],
    ['a board without an id', BOARDS, '[{"title":"t"}]', INTEGER],
    ['a board whose title is a list', BOARDS, '[{"id":7,"title":["t"]}]', /"title" must be text/],
    ['too many boards', BOARDS, `[${'{"id":7},'.repeat(60)}{"id":7}]`, /more than 50 boards/],
    ['a user whose address is a number', USERS, '[{"id":1,"email":5}]', /record 1: "email" must be text/],
    ['a list of texts', USERS, '["id"]', /must be a JSON object/],
    ['an object instead of a list', USERS, '{"users":[]}', /must hold one JSON array/],
    ['a list instead of a map', POINTS, '[]', /must hold one JSON object/],
    ['points of a different board', POINTS, pointsOf('"board_id":8'), /is not the board that was asked for/],
    ['points that are a text', POINTS, pointsOf(`"board_id":${BOARD}`, '"3"'), INTEGER],
    ['a map of numbers', POINTS, '{"a":1}', /record 1: must be an object/],
    [
      'an event whose actor has no id',
      EVENTS,
      `[${eventOf().replace('"actor":{"id":1', '"actor":{"id":null')}]`,
      INTEGER,
    ],
    [
      'an event without a board',
      EVENTS,
      `[${eventOf().replace('"board":', '"bored":')}]`,
      /"board" must be an object/,
    ],
    ['a time in words', EVENTS, `[${timeOf('Dec 25, 1995 (x)')}]`, DATE_TIME],
    ['a time before the first year', EVENTS, `[${timeOf('-000005-01-01T00:00:00.000Z')}]`, DATE_TIME],
    ['a time after the last year', EVENTS, `[${timeOf('+012345-01-01T00:00:00.000Z')}]`, DATE_TIME],
    ['a time as digits', EVENTS, `[${timeOf('1520874045567')}]`, DATE_TIME],
    ['JSON that is cut short', EVENTS, `[${eventOf()},{"type":"bo`, /not closed/],
    ['invalid JSON', EVENTS, '[{]}]', /is not valid JSON\)/],
    ['JSON a hundred thousand levels deep', BOARDS, `[${'['.repeat(1e5)}${']'.repeat(1e5)}]`, /record 1/],
    ['data after the list', BOARDS, '[] []', /and nothing else/],
    [
      'bytes that are not text',
      BOARDS,
      Buffer.from([0x5b, 0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d, 0x5d]),
      /UTF-8/,
    ],
    ['an empty body', BOARDS, '', /the file is empty/],
    ['more users than fit in memory', EVENTS, `[${manyPeople(120)}]`, /more users than fit in memory/],
  ];
  for (const [what, path, body, reason] of bodies) {
    it(`is refused for ${what}`, () => assertRefused('plain', at(path, { body }), reason));
  }

  const endless: readonly (readonly [what: string, path: string, body: Reply['body']])[] = [
    ['a list that does not end', USERS, endlessly('[', '{"id":1},'.repeat(1000))],
    ['a record that does not end', USERS, endlessly('[{"id":1,"email":"', 'x'.repeat(10_000))],
    ['a list of blanks that does not end', BOARDS, endlessly('[', ' '.repeat(10_000))],
    [
      'a map that does not end',
      POINTS,
      endlessly('{', `"a":${pointsOf(`"board_id":${BOARD}`).slice(5, -1)},`.repeat(100)),
    ],
    ['events that do not end', EVENTS, endlessly('[', `${eventOf()},`.repeat(20))],
  ];
  for (const [what, path, body] of endless) {
    it(`is refused for ${what}`, () =>
      assertRefused('plain', at(path, { body }), /larger than 3,000,000 bytes/));
  }

  const pages: readonly (readonly [
    what: string,
    trick: (asked: Asked) => Reply | undefined,
    reason: RegExp,
  ])[] = [
    ['a cursor that is always the same', pagesOf(() => 'same'), /lead in a circle/],
    [
      'a next link that leads back over many pages',
      pagesOf((step) => `page ${step % 23}`),
      /lead in a circle/,
    ],
    ['a circle of empty pages', pagesOf((step) => `page ${step % 5}`, []), /lead in a circle/],
    ['pages that do not end', pagesOf((step) => `page ${step}`), /more than 200 pages/],
    ['a next link without a cursor', pagesOf(() => ''), /has no cursor/],
    ['a cursor of ten thousand characters', pagesOf(() => 'x'.repeat(10_000)), /longer than 8192 characters/],
    [
      'a page that does not end',
      pageWith(endlessly('', `${syncEvent(1)}\n`.repeat(20))),
      /larger than 3,000,000 bytes/,
    ],
    [
      'a line that does not end',
      pageWith(endlessly('{"type":"', 'x'.repeat(10_000))),
      /larger than 3,000,000 bytes/,
    ],
    ['an event without a sync_id', pageWith(`${eventOf()}\n`), SYNC_ID],
    ['an empty sync_id', pageWith(syncIdOf('""')), SYNC_ID],
    ['a sync_id of 257 characters', pageWith(syncIdOf(`"${'x'.repeat(257)}"`)), SYNC_ID],
    ['a NUL character in a sync_id', pageWith(syncIdOf('"a\\u0000"')), SYNC_ID],
    ['half of a surrogate pair in a sync_id', pageWith(syncIdOf('"\\ud800"')), SYNC_ID],
    ['a deletion of an empty sync_id', pageWith('{"sync_id":"","deleted":true}\n'), SYNC_ID],
    [
      'a sync_id that is not the last member',
      pageWith(eventOf(',"sync_id":"x","more":1')),
      /"sync_id" must be the last member/,
    ],
    ['a forgotten user whose id is a text', pageWith('{"forgotten":{"user":"../1"}}\n'), INTEGER],
    ['too many forgotten users', pageWith(forgotten(60)), /erased more than 50 users/],
    ['a line in a different encoding', pageWith(Buffer.from([0x7b, 0xff, 0x7d, 0x0a])), /UTF-8/],
  ];
  for (const [what, trick, reason] of pages)
    it(`is refused for ${what}`, () => assertRefused('tokens', trick, reason));

  /** Nearly as long as a record may be. */
  const megabytes = 15 * 1024 * 1024;
  const long: readonly (readonly [what: string, body: string, reason: RegExp])[] = [
    ['a sync_id of megabytes', syncIdOf(`"${'x'.repeat(megabytes)}"`), SYNC_ID],
    ['a sync_id of escapes', syncIdOf(`"${'\\"'.repeat(megabytes / 2)}"`), SYNC_ID],
    [
      'a deletion of a sync_id of megabytes',
      `{"sync_id":"${'x'.repeat(megabytes)}","deleted":true}\n`,
      SYNC_ID,
    ],
    [
      'a member with the name of the sync_id inside a different one',
      eventOf(`,"more":{"a":1,"sync_id":"${'x'.repeat(megabytes)}"},"sync_id":"x","last":1`),
      /"sync_id" must be the last member/,
    ],
    [
      'a name of megabytes that is given twice',
      syncIdOf('"x"').replace('{', `{"${'n'.repeat(7e6)}":1,"${'n'.repeat(7e6)}":2,`),
      /"n{60}…" is given twice/,
    ],
    ['an id of millions of digits', syncIdOf('"x"').replace('"id":1', `"id":${'9'.repeat(8e6)}`), INTEGER],
  ];
  for (const [what, body, reason] of long) {
    it(`is refused for ${what}, in one sentence`, async () => {
      const mirror = await newMirror('tokens');
      mirror.server.trick = pageWith(body);
      await assert.rejects(mirror.lines({ limits: {} }), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'source-refused', error.stack?.slice(0, 2000));
        assert.match(error.message, reason);
        return error.message.length < 400;
      });
    });
  }

  it('accepts the longest sync_id, and a member of megabytes with its name inside a different one', async () => {
    const mirror = await newMirror('tokens');
    const more = `,"more":{"a":1,"sync_id":"${'x'.repeat(megabytes)}"}`;
    const escapes = eventOf(`${more},"sync_id" : "${'\\u0041'.repeat(256)}" `);
    mirror.server.trick = pageWith(`${escapes}\n`);
    assert.deepEqual(await mirror.lines({ limits: {} }), HONEST);
  });

  const wires: readonly (readonly [what: string, reply: Reply, reason: RegExp])[] = [
    ['a redirection', { status: 302, headers: { location: '/a/v1/elsewhere' }, body: '' }, /redirect/],
    [
      'a response that is compressed without request',
      { headers: { 'content-encoding': 'gzip' }, body: gzipSync('[]') },
      /compressed/,
    ],
    ['a length that is too large', raw('content-length: 90\r\n', '[]'), /./],
    ['a length that is too small', raw('content-length: 1\r\n', '[]'), /./],
    ['two lengths', raw('content-length: 2\r\ncontent-length: 3\r\n', '[]'), /./],
    ['chunks that are cut off', { body: '[{"id":7},', isCut: true }, /./],
    ['an invalid chunk', raw('transfer-encoding: chunked\r\n', 'zz\r\n[]\r\n'), /./],
    ['an announced size above all limits', raw('content-length: 99000000000\r\n', '['), /larger than/],
    ['a response that is not HTTP', { isRaw: true, body: 'SSH-2.0-OpenSSH_9.9\r\n' }, /./],
    ['a response that dribbles', { body: dribbling }, /too slow/],
  ];
  it('is refused for a token of a server without pages', () =>
    assertRefused('plain', at(EVENTS, { headers: { 'sync-token': 'x' }, body: '[]' }), /JSON object/));

  for (const [what, reply, reason] of wires) {
    it(`is refused for ${what}`, () => assertRefused('plain', at(BOARDS, reply), reason));
  }

  it('is refused for a response that exceeds the longest duration', async () => {
    const mirror = await newMirror('plain');
    mirror.server.trick = at(BOARDS, { body: dribbling });
    await assert.rejects(mirror.lines({ patience: { firstPauseMs: 1, longestMs: 200 } }), {
      code: 'source-refused',
      message: /its response does not end/,
    });
  });

  it('ends when the server refuses every cursor', async () => {
    const stale = { status: 400, body: '{"code":"cursor-malformed"}' };
    await assertRefused('tokens', ({ query }) => (query.has('since') ? stale : undefined), /no API/);
  });
});

function pointsOf(members: string, totalPoints = '3'): string {
  return `{"a":{"user_id":1,"total_points":${totalPoints},"participation_score":2,${members}}}`;
}

function manyPeople(count: number): string {
  return Array.from({ length: count }, (_, id) => eventOf().replaceAll('{"id":1,', `{"id":${id + 1},`)).join(
    ',',
  );
}

function forgotten(count: number): string {
  return Array.from({ length: count }, (_, id) => `{"forgotten":{"user":${id}}}\n`).join('');
}

function raw(headers: string, body: string): Reply {
  return { isRaw: true, body: `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${headers}\r\n${body}` };
}

function pageWith(body: Reply['body']): (asked: Asked) => Reply | undefined {
  return ({ query }) => (query.has('since') ? { headers: { 'sync-token': 'token' }, body } : undefined);
}

/** Each page links to the next one with a cursor made from the number of pages so far. */
function pagesOf(
  cursor: (step: number) => string,
  events?: readonly string[],
): (asked: Asked) => Reply | undefined {
  let step = 0;
  return ({ query }) => {
    if (!query.has('since')) return undefined;
    step += 1;
    return pageOf(events ?? [syncEvent(step % 60)], cursor(step));
  };
}
