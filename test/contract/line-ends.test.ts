/** JSON contains no character that line readers take for a line end (decision 70). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { type Bundle, EMPTY_BUNDLE } from '../model/bundle.ts';
import { get } from '../model/client.ts';
import { type Deployment, openDeployment } from '../model/deployment.ts';

/** Line ends of Unicode; every JSON writer escapes `\n` and `\r`. */
const LINE_ENDS = '\u0085\u2028\u2029';
/** Enough that fragments are gathered, and that events come from the rendering thread. */
const USERS = 1_100;
const EVENTS = 3_000;

const text = (name: string) => `${name} ${LINE_ENDS} end`;
const email = (id: bigint) => `u${id}\u2028\u2029@x.example`;

const BUNDLE: Bundle = {
  ...EMPTY_BUNDLE,
  users: Array.from({ length: USERS }, (_, at) => BigInt(at + 1)).map((id) => ({
    ...{ id, email: email(id), name: text(`User ${id}`), role: text('role'), class_role: text('class') },
  })),
  boards: [{ id: 7n, title: text('Board'), category: text('category') }],
  pins: [
    {
      ...{ id: 70n, board_id: 7n, owner_id: 1n, title: text('Pin'), body: text('body') },
      ...{ web_url: text('web'), image_url: text('image'), tags: [LINE_ENDS, text('tag')] },
    },
  ],
  events: Array.from({ length: EVENTS }, (_, at) => ({
    ...{ type: 'pin', action: 'visited', owner_id: 1n, actor_id: BigInt((at % USERS) + 1) },
    ...{ board_id: 7n, pin_id: 70n, timestamp: new Date(at * 1000).toISOString() },
  })),
  adjustments: [
    { user_id: 1n, board_id: 7n, points: 4, timestamp: '2018-03-13T00:00:00Z', reason: text('reason') },
  ],
};

/** Each path returns some of the texts. */
const PATHS = [
  ...['a', 'b'].flatMap((variant) =>
    ['events', 'events?limit=3', 'boards', 'users', 'users?limit=3', 'events?since=start'].map(
      (path) => `/${variant}/v1/${path}`,
    ),
  ),
  ...['/b/v1/pins', '/a/v1/events?since=start&limit=5', '/a/v1/board/7/points', '/a/v1/user/1/points'],
  ...[
    'overview?board=7&user=1',
    'activity?by=board',
    'boards',
    'users',
    'events?limit=3',
    'points',
    'points?limit=3',
  ].map((path) => `/insights/v1/${path}`),
  ...['pins', 'participation', 'attention', 'interactions', 'users/1/ledger'].map(
    (path) => `/insights/v1/boards/7/${path}`,
  ),
];

const NAMED = { email: false, name: false, id: false };

describe('JSON of texts that contain line ends', () => {
  let deployment: Deployment;
  let key: string;
  before(async () => {
    deployment = await openDeployment();
    await deployment.store.createOrganization('school', { title: text('School'), domain: text('domain') });
    await deployment.load('school', BUNDLE);
    key = await deployment.makeKey('school', { scope: FULL_SCOPE, redact: NAMED });
  });
  after(() => deployment.close());

  for (const path of PATHS) {
    it(`contains none of them and is as long as its Content-Length: ${path}`, async () => {
      const { status, headers, text: body } = await get(deployment.url + path, key);
      assert.equal(status, 200, body);
      assert.equal(headers.get('content-length'), String(Buffer.byteLength(body)));
      assert.doesNotMatch(body, /[\u0085\u2028\u2029]/);
      assert.ok(JSON.stringify(JSON.parse(body)).includes('\u2028\u2029'));
    });
  }

  for (const list of ['events', 'boards', 'users', 'events?since=start']) {
    it(`contains none of them in NDJSON, whose lines are the elements of the array: ${list}`, async () => {
      const url = `${deployment.url}/a/v1/${list}`;
      const lines = await get(url, key, { accept: 'application/x-ndjson' });
      assert.equal(lines.headers.get('content-length'), String(Buffer.byteLength(lines.text)));
      assert.doesNotMatch(lines.text, /[\u0085\u2028\u2029]/);
      const elements: unknown[] = JSON.parse((await get(url, key)).text);
      assert.deepEqual(
        lines.text
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line)),
        elements,
      );
    });
  }

  it('contains none of them in a list in a cell of CSV', async () => {
    for (const format of ['csv', 'csv&excel=1']) {
      const path = `/insights/v1/boards/7/pins?format=${format}`;
      const [header = [], row = []]: string[][] = parse((await get(deployment.url + path, key)).text, {
        bom: true,
      });
      const tags = row[header.indexOf('pin_tags')] ?? '';
      assert.doesNotMatch(tags, /[\u0085\u2028\u2029]/);
      assert.deepEqual(JSON.parse(tags), [LINE_ENDS, text('tag')]);
    }
  });

  it('contains none of them when it is compressed', async () => {
    const reply = await fetch(`${deployment.url}/a/v1/events`, {
      headers: { apikey: key, 'accept-encoding': 'gzip' },
    });
    assert.equal(reply.headers.get('content-encoding'), 'gzip');
    assert.equal(await reply.text(), (await get(`${deployment.url}/a/v1/events`, key)).text);
  });

  it('contains none of them in an event stream', async () => {
    const stop = new AbortController();
    const reply = await fetch(`${deployment.url}/a/v1/events?since=start`, {
      headers: { apikey: key, accept: 'text/event-stream' },
      signal: stop.signal,
    });
    let body = '';
    const decoder = new TextDecoder();
    for await (const chunk of reply.body!) {
      body += decoder.decode(chunk, { stream: true });
      if (body.includes('event: synced')) break;
    }
    stop.abort();
    assert.doesNotMatch(body, /[\u0085\u2028\u2029]/);
    const [, first = ''] = /data: (.*)\n\n/.exec(body) ?? [];
    assert.equal(JSON.parse(first).pin.body, text('body'));
  });

  it('contains none of them in a problem document', async () => {
    const path = `/a/v1/events?start${encodeURIComponent(LINE_ENDS)}=1`;
    const { status, text: body } = await get(deployment.url + path, key);
    assert.equal(status, 400);
    assert.doesNotMatch(body, /[\u0085\u2028\u2029]/);
    assert.ok(JSON.parse(body).detail.includes(`start${LINE_ENDS}`), body);
  });
});
