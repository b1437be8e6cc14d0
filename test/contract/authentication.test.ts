/** Contract sections 1, 5 to 9: keys, scopes, read-only access, errors, paging, versions. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { EMPTY_BUNDLE } from '../model/bundle.ts';
import { assertProblem, assertSuccess, get, nextOf } from '../model/client.ts';
import * as fixture from '../world.ts';

const ROUTES = [
  ...[
    '/a/v1/events',
    '/a/v1/events/board/7',
    '/a/v1/events/pins',
    '/a/v1/events/user/1',
    '/a/v1/boards',
    '/a/v1/users',
  ],
  ...[
    '/a/v1/board/7/points',
    '/a/v1/user/1/points',
    '/a/v1/lti/lti-rhetoric/points',
    '/a/v1/course/FAR/points',
  ],
  '/a/v1/lms_user/login%2Fid/ada/points',
  ...['/b/v1/events', '/b/v1/board/7', '/b/v1/pins', '/b/v1/user/1', '/b/v1/boards', '/b/v1/users'],
];

describe('contract 1 and 5 to 9', () => {
  let world: fixture.World;
  before(async () => {
    world = await fixture.openWorld();
  });
  after(() => world.close());

  for (const path of ROUTES) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      it(`1 Every operation is a read: ${method} ${path} is 405 and names the allowed methods`, async () => {
        const response = await fetch(world.url + path, { method, headers: { apikey: world.keys.full } });
        const { status, headers } = response;
        assertProblem({ status, headers, text: await response.text() }, 405, 'method-not-allowed');
        const allowed = (headers.get('allow') ?? '').split(/,\s*/);
        assert.ok(allowed.includes('GET') && allowed.includes('HEAD'), String(headers.get('allow')));
        assert.ok(!allowed.includes(method));
      });
    }

    it(`4 ${path} responds to HEAD as to GET without a body, and with 304 to its own entity tag`, async () => {
      const whole = await get(world.url + path, world.keys.full);
      assertSuccess(whole);
      const head = await fetch(world.url + path, {
        method: 'HEAD',
        headers: { apikey: world.keys.full, 'accept-encoding': 'identity' },
      });
      assert.equal(head.status, 200);
      assert.equal(await head.text(), '');
      for (const name of ['content-type', 'content-length', 'etag', 'cache-control', 'vary']) {
        assert.equal(head.headers.get(name), whole.headers.get(name), name);
      }
      const tag = whole.headers.get('etag') ?? '';
      const again = await get(world.url + path, world.keys.full, { 'if-none-match': `"other", W/${tag}` });
      assert.equal(again.status, 304);
      assert.equal(again.text, '');
      assert.equal(again.headers.get('etag'), tag);
      const other = await get(world.url + path, world.keys.full, { 'if-none-match': '"other"' });
      assert.equal(other.text, whole.text);
    });

    it(`4.4.3 ${path}: two responses about unchanged data are byte-identical`, async () => {
      const [one, other] = await Promise.all([1, 2].map(() => get(world.url + path, world.keys.full)));
      assert.equal(one?.text, other?.text);
      assert.equal(one?.headers.get('etag'), other?.headers.get('etag'));
    });

    it(`4.1 ${path}: a malformed, repeated, reversed or unknown parameter is refused`, async () => {
      const refusals = [
        ['start=yesterday', 'parameter-malformed'],
        ['end=', 'parameter-malformed'],
        ['start=1e3', 'parameter-malformed'],
        ['start=1&start=1', 'parameter-repeated'],
        ['start=2&end=1', 'range-reversed'],
        ['strat=1', 'parameter-unknown'],
        ['START=1', 'parameter-unknown'],
      ] as const;
      for (const [query, code] of refusals) {
        assertProblem(await get(`${world.url}${path}?${query}`, world.keys.full), 400, code);
      }
    });
  }

  it('2 All identifiers are integers: a path id that is not an integer of 64 bits is 400', async () => {
    const malformed = ['x', '1.0', '1e3', '+1', '%201', '9223372036854775808', '-9223372036854775809', '0x1'];
    for (const id of malformed) {
      for (const path of ['/a/v1/events/board/', '/a/v1/events/user/', '/b/v1/board/', '/b/v1/user/']) {
        assertProblem(await get(world.url + path + id, world.keys.full), 400, 'identifier-malformed');
      }
      for (const path of ['board', 'user']) {
        const reply = await get(`${world.url}/a/v1/${path}/${id}/points`, world.keys.full);
        assertProblem(reply, 400, 'identifier-malformed');
      }
    }
  });

  it('2 All responses are JSON; NDJSON and CSV only on request', async () => {
    for (const path of ROUTES) {
      const reply = await get(world.url + path, world.keys.full, { accept: '*/*' });
      assertSuccess(reply, 'application/json');
    }
    const lines = await get(`${world.url}/a/v1/events`, world.keys.full, { accept: 'application/x-ndjson' });
    assertSuccess(lines, 'application/x-ndjson');
    const whole = await get(`${world.url}/a/v1/events`, world.keys.full);
    assert.equal(`[${lines.text.trimEnd().replaceAll('\n', ',')}]`, whole.text);
    assertSuccess(await get(`${world.url}/b/v1/users?format=csv`, world.keys.full), 'text/csv');
    assertProblem(
      await get(`${world.url}/a/v1/users`, world.keys.full, { accept: 'text/html' }),
      406,
      'not-acceptable',
    );
  });

  it('5 Header: an empty key, a key in the query, or a key in a different header is no key', async () => {
    assertProblem(await get(`${world.url}/a/v1/events`, ''), 401, 'key-missing');
    assertProblem(
      await get(`${world.url}/a/v1/events?apikey=${world.keys.full}`, undefined),
      401,
      'key-missing',
    );
    for (const name of ['x-api-key', 'api-key', 'proxy-authorization', 'cookie']) {
      const other = { [name]: name === 'cookie' ? `apikey=${world.keys.full}` : world.keys.full };
      assertProblem(await get(`${world.url}/a/v1/events`, undefined, other), 401, 'key-missing');
    }
  });

  it('5 Header: the key of an organization sees that organization only', async () => {
    await world.load('other', {
      ...EMPTY_BUNDLE,
      users: [{ id: fixture.ADA, email: 'other@other.example', name: 'Other' }],
    });
    const key = await world.makeKey('other');
    const reply = await get(`${world.url}/a/v1/users`, key);
    assert.equal(reply.text, '[{"id":1,"first_name":"Other","last_name":"","email":"other@other.example"}]');
    assertProblem(await get(`${world.url}/a/v1/events/board/7`, key), 404, 'not-found');
  });

  it('5 Header: an organization without published data responds like an empty one', async () => {
    await world.store.createOrganization('unpublished', {});
    const key = await world.makeKey('unpublished');
    const reply = await get(`${world.url}/a/v1/events`, key);
    assert.deepEqual([reply.status, reply.text], [200, '[]']);
    assertProblem(await get(`${world.url}/a/v1/events/board/7`, key), 404, 'not-found');
  });

  it('5 Scope: a restricted key gets only its subset of boards and users', async () => {
    const users = await get(`${world.url}/b/v1/users`, world.keys.boards);
    const ids = [...users.text.matchAll(/"id":(-?\d+)/g)].map((match) => match[1]);
    assert.deepEqual(ids, ['1', '2', '3', '5', '9007199254740993']);
    const boards = await get(`${world.url}/b/v1/boards`, world.keys.boards);
    assert.equal(
      boards.text,
      '[{"id":7,"title":"Rhetoric","category":"Communications"},{"id":9,"title":"Empty","category":""}]',
    );
    const events = await get(`${world.url}/b/v1/events`, world.keys.users);
    assert.equal([...events.text.matchAll(/"timestamp":/g)].length, 1);
  });

  it('6 Each event records an owner and an actor and carries its time', async () => {
    const { text } = await get(`${world.url}/a/v1/events`, world.keys.full);
    for (const name of ['owner', 'actor', 'timestamp']) assert.equal(text.split(`"${name}":`).length - 1, 10);
  });

  it('8 Page size: limit cuts a list into pages that together are the list (decision 18)', async () => {
    for (const path of ['/a/v1/events', '/b/v1/pins', '/a/v1/users', '/b/v1/boards']) {
      const whole = await get(world.url + path, world.keys.full);
      const pages: string[] = [];
      for (let next: string | undefined = `${path}?limit=2`; next !== undefined; ) {
        const page = await get(world.url + next, world.keys.full);
        assertSuccess(page);
        pages.push(page.text.slice(1, -1));
        next = nextOf(page);
      }
      assert.equal(`[${pages.join(',')}]`, whole.text);
    }
    for (const limit of ['0', '-1', '10001', 'x', '']) {
      const reply = await get(`${world.url}/a/v1/events?limit=${limit}`, world.keys.full);
      assertProblem(reply, 400, 'parameter-malformed');
    }
    const forged = await get(`${world.url}/a/v1/events?limit=2&cursor=AAAA`, world.keys.full);
    assertProblem(forged, 400, 'cursor-malformed');
  });

  it('9 The version is part of the path: a path with a different version, or without one, is no route', async () => {
    for (const path of ['/a/v2/events', '/a/events', '/b/v2/events', '/b/boards', '/events']) {
      assertProblem(await get(world.url + path, world.keys.full), 404, 'not-found');
    }
  });
});
