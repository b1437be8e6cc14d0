import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, describe, it } from 'node:test';
import { AppError } from '../../src/domain/app-error.ts';
import type { Store } from '../../src/store/store.ts';
import { IS_LONG } from '../long.ts';
import { CATALOGS, DEFAULT_STORAGE, describeOver } from '../storage.ts';
import { head, largeRecords, openStand, type Stand, type StandOptions, sendRaw, until } from './stand.ts';

async function withStand(options: StandOptions, test: (stand: Stand) => Promise<void>): Promise<void> {
  const stand = await openStand(options);
  try {
    await test(stand);
  } finally {
    await stand.close();
  }
}

let shared: Promise<Stand> | undefined;
let tests = 0;
after(async () => await (await shared)?.close());

/** With a server of the default options, which these tests share, and an empty log. */
async function withShared(test: (stand: Stand) => Promise<void>): Promise<void> {
  shared ??= openStand();
  const stand = await shared;
  // After this line there are no more of earlier requests.
  const id = `before-${++tests}`;
  await stand.get('/livez', { 'x-request-id': id });
  await until(() => stand.log.some((line) => line['request_id'] === id));
  stand.log.length = 0;
  await test(stand);
}

function idOf(key: string): string {
  return key.split('_')[1] ?? '';
}

/** The lines of `count` requests, in the order in which they ended. */
async function requestLines({ log }: Stand, count: number): Promise<readonly Record<string, unknown>[]> {
  const lines = () => log.filter((line) => 'request_id' in line);
  await until(() => lines().length === count);
  return lines();
}

/** The store, with some methods replaced. */
function altered(store: Store, changes: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(changes, name) ?? Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** That a server hears of publications in PostgreSQL is shown by `notification.test.ts`, too. */
const STORAGES = IS_LONG ? CATALOGS : [DEFAULT_STORAGE];

describeOver(STORAGES, 'a server', {}, (kind) => {
  it('serves a first publication soon', () =>
    withStand({ kind, records: undefined }, async (stand) => {
      assert.equal(await (await stand.get('/a/v1/boards')).text(), '[]');
      await stand.publish({ boards: [{ id: 1n, title: 'First' }] });
      await until(async () => (await (await stand.get('/a/v1/boards')).text()).includes('First'));
    }));

  it('opens a dataset once for concurrent first requests', async () => {
    let openings = 0;
    const around = (store: Store) =>
      altered(store, {
        openDataset: (organization) => {
          openings += 1;
          return store.openDataset(organization);
        },
      });
    await withStand({ kind, around }, async (stand) => {
      const replies = await Promise.all(Array.from({ length: 20 }, () => stand.get('/a/v1/boards')));
      assert.ok(replies.every(({ status }) => status === 200));
      assert.equal(openings, 1);
    });
  });

  it('keeps the previous version in service if the next one cannot be opened, and logs this', async () => {
    let broken = false;
    const around = (store: Store) =>
      altered(store, {
        openDataset: async (organization) => {
          if (broken) throw new Error('the file is gone');
          return store.openDataset(organization);
        },
      });
    await withStand({ kind, around }, async (stand) => {
      const before = await (await stand.get('/a/v1/boards')).text();
      broken = true;
      await stand.publish({ boards: [{ id: 1n, title: 'First' }] });
      await until(() => stand.log.some((line) => line['level'] === 'error'));
      assert.equal(await (await stand.get('/a/v1/boards')).text(), before);
    });
  });
});

describe('rate limits', () => {
  it('are off by default', () =>
    withShared(async (stand) => {
      const response = await stand.get('/a/v1/boards');
      assert.equal(response.headers.get('ratelimit'), null);
      assert.equal(response.headers.get('ratelimit-policy'), null);
    }));

  it('count per key, show the remaining requests and refuse excessive ones', () =>
    withStand({ rateLimit: { requests: 3, perSeconds: 60 } }, async (stand) => {
      for (const left of [2, 1, 0]) {
        const response = await stand.get('/a/v1/boards', left === 1 ? { 'if-none-match': '*' } : {});
        assert.equal(response.status, left === 1 ? 304 : 200);
        assert.equal(response.headers.get('ratelimit-policy'), '"default";q=3;w=60');
        assert.match(response.headers.get('ratelimit') ?? '', new RegExp(`^"default";r=${left};t=(59|60)$`));
        await response.text();
      }
      const refused = await stand.get('/a/v1/nowhere');
      assert.equal(refused.status, 429);
      assert.match(refused.headers.get('retry-after') ?? '', /^(59|60)$/);
      assert.match(refused.headers.get('ratelimit') ?? '', /^"default";r=0;t=/);
      assert.match(await refused.text(), /"code":"rate-limited"/);

      const generous = await stand.makeKey({ rateLimit: { requests: 100, perSeconds: 1 } });
      const other = await stand.get('/a/v1/boards', { apikey: generous });
      assert.equal(other.headers.get('ratelimit-policy'), '"default";q=100;w=1');
      assert.equal((await fetch(`${stand.url}/livez`)).headers.get('ratelimit'), null);
    }));
});

describe('CORS', () => {
  const origin = 'https://dashboard.example.org';
  const preflight = {
    origin,
    'access-control-request-method': 'GET',
    'access-control-request-headers': 'apikey',
  };

  it('is off unless origins are configured', () =>
    withShared(async (stand) => {
      const reply = await sendRaw(stand.port, head('OPTIONS', '/a/v1/boards', preflight));
      assert.equal(reply.status, 401);
      assert.ok([...reply.headers.keys()].every((name) => !name.startsWith('access-control')));
      assert.equal((await stand.get('/livez')).headers.get('vary'), null);
    }));

  it('lets pages of the configured origins, and no others, send requests and read responses, including problems', () =>
    withStand({ corsOrigins: [origin] }, async (stand) => {
      const asked = await sendRaw(stand.port, head('OPTIONS', '/a/v1/boards', preflight));
      assert.equal(asked.status, 204);
      assert.equal(asked.headers.get('access-control-allow-origin'), origin);
      assert.match(asked.headers.get('access-control-allow-headers') ?? '', /^apikey, authorization, /);
      const other = { ...preflight, origin: 'https://elsewhere.example.org' };
      assert.equal((await sendRaw(stand.port, head('OPTIONS', '/a/v1/boards', other))).status, 401);
      for (const path of ['/a/v1/boards', '/a/v1/events?limit=1', '/a/v1/nowhere', '/livez']) {
        const reply = await sendRaw(stand.port, head('GET', path, { apikey: stand.key, origin }));
        assert.equal(reply.headers.get('access-control-allow-origin'), origin);
        assert.match(reply.headers.get('access-control-expose-headers') ?? '', /Link/);
        assert.match(reply.headers.get('vary') ?? '', /Origin$/);
        const stranger = await sendRaw(stand.port, head('GET', path, { apikey: stand.key, origin: 'null' }));
        assert.equal(stranger.headers.get('access-control-allow-origin'), undefined);
        assert.match(stranger.headers.get('vary') ?? '', /Origin$/);
      }
    }));
});

describe('a request', () => {
  it('is logged as one line without keys and header fields', () =>
    withShared(async (stand) => {
      await stand.get('/a/v1/events/board/7?start=5', {
        'x-request-id': 'r-1',
        'user-agent': 'secret-agent',
      });
      await stand.get('/a/v1/events/board/x', { 'x-request-id': 'r-2' });
      await stand.get('/nowhere', { 'x-request-id': 'r-3', apikey: '' });
      await until(() => stand.log.filter((line) => 'request_id' in line).length === 3);
      const [first, second, third] = stand.log.filter((line) => 'request_id' in line);
      assert.equal(first?.['request_id'], 'r-1');
      assert.equal(first?.['route'], '/a/v1/events/board/:board_id');
      assert.equal(first?.['path'], '/a/v1/events/board/7');
      assert.equal(first?.['status'], 200);
      assert.equal(first?.['organization'], 'harbor');
      assert.equal(first?.['key'], stand.key.split('_')[1]);
      assert.ok(typeof first?.['duration_ms'] === 'number' && typeof first?.['bytes'] === 'number');
      assert.equal(second?.['code'], 'identifier-malformed');
      assert.equal(third?.['route'], 'none');
      const text = JSON.stringify(stand.log);
      assert.ok(!text.includes(stand.key) && !text.includes('secret-agent'));
    }));

  it('is logged with the id of a refused key if the key is known', () =>
    withShared(async (stand) => {
      const expired = await stand.makeKey({}, Date.now() - 1);
      const revoked = await stand.makeKey();
      await stand.keyring.revoke(idOf(revoked));
      const forged = `${expired.slice(0, -1)}${expired.endsWith('0') ? '1' : '0'}`;
      for (const key of [expired, revoked, forged]) {
        assert.equal((await stand.get('/a/v1/boards', { apikey: key })).status, 401);
      }
      const lines = await requestLines(stand, 3);
      assert.deepEqual(
        lines.map(({ code, key, organization }) => [code, key, organization]),
        [
          ['key-expired', idOf(expired), 'harbor'],
          ['key-revoked', idOf(revoked), 'harbor'],
          ['key-unknown', undefined, undefined],
        ],
      );
    }));

  it('is logged without users or keys from its path, with any spelling', () =>
    withShared(async (stand) => {
      const encodedTwice = stand.key.replace('c', '%2563');
      const encodedOften = stand.key.replace('c', `%${'25'.repeat(40)}63`);
      const shown: readonly [path: string, shown: string][] = [
        ['/a/v1/lms_user/sis/STUDENT-4711/points', '/a/v1/lms_user/*/*/points'],
        ['/a/v1/lms_user/sis/4711/points', '/a/v1/lms_user/*/*/points'],
        ['/a/v1/lms_user/sis/4711', '/a/v1/lms_user/*/*'],
        ['/a/v1/lms_users/sis/ada/points', '/a/v1/*/*/*/points'],
        ['/a/v1/lti/ada@x.example/points', '/a/v1/lti/*/points'],
        ['/a/v1/user/12/points', '/a/v1/user/12/points'],
        ['/a/v1/user/ada/points', '/a/v1/user/*/points'],
        [`/a/v1/lti/${encodedTwice}/points`, '/a/v1/lti/*/points'],
        [`/${encodedTwice}`, '/*'],
        [`/a/v1/events/board/${encodedOften}`, '/a/v1/events/board/*'],
        [`/x${'/x'.repeat(100)}`, `${'/*'.repeat(11)}`],
      ];
      for (const [path] of shown) {
        const problem = await (await stand.get(path)).text();
        assert.ok(!problem.includes(stand.key.slice(5)), path);
      }
      const lines = await requestLines(stand, shown.length);
      assert.deepEqual(
        lines.map(({ path }) => path),
        shown.map(([, path]) => path),
      );
    }));

  describe('has a client address, which', () => {
    const forwarded = { 'x-forwarded-for': '203.0.113.9, 198.51.100.7, 127.0.0.2' };

    it('is the peer of the connection by default, independent of header fields', () =>
      withShared(async (stand) => {
        await stand.get('/livez', forwarded);
        await sendRaw(stand.port, 'nonsense\r\n\r\n');
        const lines = () => stand.log.filter((line) => 'client' in line);
        await until(() => lines().length === 2);
        assert.deepEqual(
          lines().map(({ client, msg }) => [client, msg]),
          [
            ['127.0.0.1', 'request'],
            ['127.0.0.1', 'connection refused'],
          ],
        );
      }));

    it('is the last address that is not a trusted proxy', () =>
      withStand({ trustedProxies: ['127.0.0.0/8'] }, async (stand) => {
        await stand.get('/livez', forwarded);
        await stand.get('/livez', { 'x-forwarded-for': 'cork_in_the_wrong_place' });
        await stand.get('/livez');
        assert.deepEqual(
          (await requestLines(stand, 3)).map(({ client }) => client),
          ['198.51.100.7', '127.0.0.1', '127.0.0.1'],
        );
      }));

    it('is the peer of the connection if the peer is not a trusted proxy', () =>
      withStand({ trustedProxies: ['192.0.2.1'] }, async (stand) => {
        await stand.get('/livez', forwarded);
        assert.equal((await requestLines(stand, 1))[0]?.['client'], '127.0.0.1');
      }));
  });

  it('keeps its request id if that is harmless and gets a new one otherwise, in the response too', () =>
    withShared(async (stand) => {
      const idFor = async (given: string) =>
        (await sendRaw(stand.port, head('GET', '/livez', { 'x-request-id': given }))).headers.get(
          'x-request-id',
        );
      assert.equal(await idFor('a-1.b_c:d'), 'a-1.b_c:d');
      for (const odd of ['', 'a b', '"', 'x'.repeat(65), stand.key]) {
        const id = await idFor(odd);
        assert.notEqual(id, odd);
        assert.match(id ?? '', /^[0-9a-f-]{36}$/);
      }
    }));

  it('is counted in the metrics by route and status, while it is open too', () =>
    withStand({}, async (stand) => {
      await stand.get('/a/v1/boards');
      await stand.get('/a/v1/boards?x=1');
      await until(() => stand.log.filter((line) => 'request_id' in line).length === 2);
      const text = await (await fetch(`${stand.url}/metrics`)).text();
      assert.match(text, /corkboard_requests_total\{route="\/a\/v1\/boards",method="GET",status="200"\} 1/);
      assert.match(text, /corkboard_requests_total\{route="\/a\/v1\/boards",method="GET",status="400"\} 1/);
      assert.match(text, /corkboard_request_duration_seconds_bucket\{le="0\.001",route="\/a\/v1\/boards"\}/);
      assert.match(text, /corkboard_requests_in_flight 1/);
      assert.match(text, /corkboard_datasets_open 1/);
      assert.match(text, /process_cpu_seconds_total/);
    }));

  for (const metricsOrganizations of [undefined, true]) {
    it(`metrics name ${metricsOrganizations ? 'organizations with the option' : 'no organization by default'}`, () =>
      withStand({ metricsOrganizations }, async (stand) => {
        await stand.get('/a/v1/boards');
        const text = await (await fetch(`${stand.url}/metrics`)).text();
        const label = metricsOrganizations ? '\\{organization="harbor"\\}' : '';
        assert.match(text, new RegExp(`^corkboard_datasets_opened_total${label} 1$`, 'm'));
        assert.equal(text.includes('harbor'), metricsOrganizations === true);
        if (!metricsOrganizations) assert.match(text, /^corkboard_dataset_failures_total 0$/m);
      }));
  }

  it('gets a response with its duration and a ban on content sniffing', () =>
    withShared(async (stand) => {
      for (const path of [
        '/',
        '/docs',
        '/livez',
        '/metrics',
        '/a/openapi.json',
        '/a/v1/events',
        '/a/v1/x',
        '/x',
        '/%',
      ]) {
        const response = await stand.get(path);
        await response.text();
        assert.match(response.headers.get('server-timing') ?? '', /^total;dur=\d+\.\d$/, path);
        assert.equal(response.headers.get('x-content-type-options'), 'nosniff', path);
        assert.ok(response.headers.get('x-request-id'), path);
      }
    }));
});

describe('a running server', () => {
  it('is alive and ready, and not ready if the store does not respond', async () => {
    await withShared(async (stand) => {
      assert.equal((await fetch(`${stand.url}/livez`)).status, 200);
      assert.equal((await fetch(`${stand.url}/readyz`)).status, 200);
    });
    const failing = () => Promise.reject(new Error('no disk'));
    await withStand({ around: (store) => altered(store, { countPublished: failing }) }, async (stand) => {
      assert.equal((await fetch(`${stand.url}/livez`)).status, 200);
      assert.equal((await fetch(`${stand.url}/readyz`)).status, 503);
    });
  });

  it('responds with 503 and Retry-After while the database is away, and is not ready', async () => {
    const away = () => Promise.reject(new AppError('database-away', 'The database cannot be reached now.'));
    const around = (store: Store) => altered(store, { openDataset: away, countPublished: away });
    await withStand({ around }, async (stand) => {
      const response = await stand.get('/a/v1/events');
      assert.equal(response.status, 503);
      assert.equal(response.headers.get('retry-after'), '5');
      assert.match(await response.text(), /"code":"database-away"/);
      assert.equal((await fetch(`${stand.url}/readyz`)).status, 503);
    });
  });

  it('lets responses in flight finish when it stops, and accepts no new connections', () =>
    withStand({ records: largeRecords() }, async (stand) => {
      const response = await stand.get('/a/v1/events');
      const idle = connect(stand.port, '127.0.0.1');
      const closed = new Promise((resolve) => idle.once('close', resolve));
      await new Promise((resolve) => idle.once('connect', resolve));
      const stopped = stand.stop();
      await closed;
      await assert.rejects(fetch(`${stand.url}/livez`));
      const text = await response.text();
      assert.equal(String(text.length), response.headers.get('content-length'));
      await stopped;
    }));

  it('cuts off responses that take too long when it stops', () =>
    withStand({ records: largeRecords(), stopTimeoutMs: 200 }, async (stand) => {
      const response = await stand.get('/a/v1/events');
      await stand.stop();
      await assert.rejects(response.text());
    }));
});
