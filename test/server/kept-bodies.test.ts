import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { startServer } from '../../src/server/start.ts';
import type { Store } from '../../src/store/store.ts';
import { publishRecords, WORLD } from '../dataset/small-world.ts';
import { IS_LONG } from '../long.ts';
import { openStand, type Stand, until } from './stand.ts';

/** Method calls on the datasets that were opened through `countQuestions`. */
let questions = 0;

/** The same store, except that calls of its datasets are counted. */
function countQuestions(store: Store): Store {
  return around(store, (name, result) =>
    name === 'openDataset' && result instanceof Promise
      ? result.then((dataset?: Dataset) => dataset && around(dataset, countOne))
      : result,
  );
}

function countOne(_name: string | symbol, result: unknown): unknown {
  questions += 1;
  return result;
}

/**
 * The same object, except that `after` receives the result of every method and returns a result in
 * its place.
 */
function around<T extends object>(inner: T, after: (name: string | symbol, result: unknown) => unknown): T {
  return new Proxy(inner, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => after(name, Reflect.apply(value, target, given));
    },
  });
}

const PATHS = [
  '/a/v1/events',
  '/b/v1/events',
  '/a/v1/events/board/7',
  '/a/v1/events/user/1',
  '/a/v1/events?limit=1',
  '/a/v1/boards',
  '/b/v1/boards',
  '/a/v1/users',
  '/b/v1/users',
  '/a/v1/board/7/points',
  '/a/v1/user/1/points',
];
const FORMS = [
  {},
  { accept: 'text/csv, application/json;q=0.5' },
  { accept: 'application/x-ndjson, application/json;q=0.5' },
  { 'accept-encoding': 'gzip' },
  { 'accept-encoding': 'zstd' },
];

interface Told {
  readonly status: number;
  readonly fields: Record<string, string | null>;
  readonly body: string;
}

const FIELDS = ['content-type', 'content-encoding', 'etag', 'link', 'cache-control', 'vary'];

async function tell(response: Response): Promise<Told> {
  const fields = Object.fromEntries(FIELDS.map((name) => [name, response.headers.get(name)]));
  const { status } = response;
  // A refusal contains the id of its request.
  const body = (await response.text()).replace(/"request_id":"[^"]*"/, '');
  return { status, fields, body };
}

async function ask(url: string, path: string, headers: Record<string, string>): Promise<Told> {
  return tell(await fetch(url + path, { headers: { 'accept-encoding': 'identity', ...headers } }));
}

describe('a small cached response', () => {
  let stand: Stand;
  before(async () => {
    stand = await openStand({ around: countQuestions });
  });
  after(() => stand.close());

  it('is sent again, and as 304 and to HEAD, without a query of the dataset', async () => {
    for (const [at, path] of PATHS.entries()) {
      for (const form of IS_LONG ? FORMS : [FORMS[0]!, FORMS[1 + (at % (FORMS.length - 1))]!]) {
        const first = await tell(await stand.get(path, form));
        assert.equal(first.status, 200);
        assert.deepEqual(await tell(await stand.get(path, form)), first);
        const asked = questions;
        assert.deepEqual(await tell(await stand.get(path, form)), first);
        const headed = await stand.get(path, form, 'HEAD');
        assert.deepEqual((await tell(headed)).fields, first.fields);
        if (!('accept-encoding' in form)) {
          assert.equal(headed.headers.get('content-length'), String(Buffer.byteLength(first.body)));
        }
        for (const known of [first.fields['etag'] ?? '', '*']) {
          assert.equal((await stand.get(path, { ...form, 'if-none-match': known })).status, 304);
        }
        assert.equal(questions, asked, path);
      }
    }
  });

  it('is not required for a 304, which needs no query of the dataset', async () => {
    const { etag } = (await tell(await stand.get('/a/v1/events?start=17'))).fields;
    const server = await startServer({
      ...{ host: '127.0.0.1', port: 0, defaultVariant: 'a', logLevel: 'silent' },
      store: countQuestions(stand.store),
      keyring: stand.keyring,
    });
    try {
      const before = questions;
      const headers = { apikey: stand.key, 'if-none-match': etag ?? '' };
      assert.equal((await ask(server.address, '/a/v1/events?start=17', headers)).status, 304);
      assert.equal(questions, before);
    } finally {
      await server.stop();
    }
  });

  it('is shared by all spellings of a query, with the next page in the spelling of each', async () => {
    const one = await tell(await stand.get('/a/v1/events?limit=2&start=0'));
    await tell(await stand.get('/a/v1/events?limit=2&start=0'));
    const asked = questions;
    const other = await tell(await stand.get('/v1/events?start=0&limit=2'));
    assert.equal(questions, asked);
    assert.equal(other.body, one.body);
    assert.match(one.fields['link'] ?? '', /^<\/a\/v1\/events\?limit=2&start=0&cursor=/);
    assert.match(other.fields['link'] ?? '', /^<\/v1\/events\?start=0&limit=2&cursor=/);
  });

  it('is never a refusal', async () => {
    for (const path of ['/a/v1/events/board/12345', '/a/v1/lti/none/points']) {
      assert.equal((await tell(await stand.get(path))).status, 404);
      const asked = questions;
      assert.equal((await tell(await stand.get(path))).status, 404);
      assert.ok(questions > asked);
    }
  });
});

describe('cached responses for other keys', () => {
  let stand: Stand;
  before(async () => {
    stand = await openStand();
    // The same ids and texts, except for one board that identifies the organization.
    await stand.store.createOrganization('other', {
      title: 'Harbor',
      lmsUserProperties: ['sis'],
      policy: '',
    });
    const boards = WORLD.boards?.map((board) =>
      board.id === 7n ? { ...board, title: 'Other seven' } : board,
    );
    await publishRecords(stand.store, 'other', { ...WORLD, boards: boards ?? [] });
  });
  after(() => stand.close());

  it('are never sent to a key with a different scope, redaction or organization', async () => {
    const redact = { email: false, name: false, id: false };
    const keys = await Promise.all([
      stand.makeKey(),
      stand.makeKey({ scope: { boards: [7n], users: 'of-boards' } }),
      stand.makeKey({ scope: { boards: [8n], users: 'of-boards' } }),
      stand.makeKey({ scope: { boards: [7n, 8n], users: 'of-boards' } }),
      stand.makeKey({ scope: { boards: 'all', users: [1n] } }),
      stand.makeKey({ scope: { boards: [], users: [] } }),
      stand.makeKey({ redact: { ...redact, email: true } }),
      stand.makeKey({ redact: { ...redact, name: true } }),
      stand.makeKey({ redact: { ...redact, id: true } }),
      stand.makeKey({ organization: 'other' }),
      stand.makeKey({ organization: 'other', redact: { ...redact, email: true } }),
      stand.makeKey({ organization: 'other', scope: { boards: [7n], users: 'of-boards' } }),
    ]);
    const forms = [{}, FORMS[1], FORMS[3]];
    const questions = PATHS.flatMap((path, at) =>
      (IS_LONG ? forms : [forms[at % forms.length]]).map((form) => ({ path, form })),
    );
    const alone = new Map<string, Told[]>();
    for (const apikey of keys) {
      const server = await startServer({
        ...{ host: '127.0.0.1', port: 0, defaultVariant: 'a', logLevel: 'silent' },
        store: stand.served,
        keyring: stand.keyring,
      });
      const told: Told[] = [];
      for (const { path, form } of questions) told.push(await ask(server.address, path, { ...form, apikey }));
      await server.stop();
      alone.set(apikey, told);
    }
    assert.equal(new Set([...alone.values()].map((told) => JSON.stringify(told))).size, keys.length);
    // Request by request, so that each key follows all the others; twice, so that every response is
    // cached.
    for (const [index, { path, form }] of [...questions.entries(), ...questions.entries()]) {
      for (const apikey of keys) {
        const told = await ask(stand.url, path, { ...form, apikey });
        assert.deepEqual(told, alone.get(apikey)?.[index], path);
      }
    }
  });

  it('are not sent after a publication', async () => {
    const before = await tell(await stand.get('/a/v1/boards'));
    assert.deepEqual(await tell(await stand.get('/a/v1/boards')), before);
    await stand.publish({ boards: [{ id: 99n, title: 'New' }] });
    await until(async () => (await tell(await stand.get('/a/v1/boards'))).body.includes('"New"'));
    assert.notEqual((await tell(await stand.get('/a/v1/boards'))).fields['etag'], before.fields['etag']);
  });
});
