import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { FULL_SCOPE } from '../../../src/domain/scope.ts';
import { makeKey } from '../../../src/keys/key-format.ts';
import { assertProblem, openStand, type Stand, sendRaw, until } from '../stand.ts';

const CHALLENGE = 'apikey realm="corkboard", Bearer realm="corkboard"';
const ORIGIN = 'https://dashboard.example.org';

let stand: Stand;
/** A key that sees different data than the key of the stand. */
let narrow: string;
before(async () => {
  stand = await openStand({ corsOrigins: [ORIGIN] });
  narrow = await stand.makeKey({ scope: { ...FULL_SCOPE, boards: [] } });
});
after(() => stand.close());

/** Sends the lines of a head unchanged, so that fields can be repeated. */
function ask(lines: readonly string[], method = 'GET', path = '/a/v1/boards', to = stand) {
  const fields = ['host: x', 'connection: close', ...lines].map((line) => `${line}\r\n`);
  return sendRaw(to.port, `${method} ${path} HTTP/1.1\r\n${fields.join('')}\r\n`);
}

const idOf = (key: string) => key.split('_')[1];
const apikey = (key: string) => `apikey: ${key}`;
const bearer = (key: string) => `Authorization: Bearer ${key}`;

describe('a key', () => {
  it('gives the same response in apikey, as a bearer token, and in both', async () => {
    for (const path of [
      '/a/v1/boards',
      '/b/v1/events',
      '/v1/users',
      '/insights/v1/activity?interval=month',
    ]) {
      const expected = await ask([apikey(stand.key)], 'GET', path);
      assert.equal(expected.status, 200);
      const forms = [
        [bearer(stand.key)],
        [apikey(stand.key), bearer(stand.key)],
        [apikey(''), bearer(stand.key)],
        [apikey(stand.key), 'Authorization: Bearer'],
        [apikey(stand.key), 'Authorization: Bearer   '],
        [`AUTHORIZATION:   bEARER   ${stand.key}  `],
      ];
      for (const lines of forms) {
        const reply = await ask(lines, 'GET', path);
        assert.deepEqual([reply.status, reply.body], [200, expected.body], lines.join());
        assert.equal(reply.headers.get('etag'), expected.headers.get('etag'));
        assert.equal(reply.headers.get('vary'), 'apikey, Authorization, Accept, Accept-Encoding, Origin');
      }
    }
  });

  it('that is missing, cut, repeated, too long or of a different server is refused with its own advice', async () => {
    const whole =
      'This is not an API key: a key begins with "cork" and has 59 characters. Check that it was copied whole.';
    assert.equal(stand.key.length, 59);
    const { key } = makeKey();
    for (const [lines, advice] of [
      [
        [],
        /^Send the API key of the organization in the header "apikey", or as "Authorization: Bearer KEY"\.$/,
      ],
      [[apikey(stand.key.slice(0, -1))], whole],
      [[apikey('x'.repeat(300))], whole],
      [[apikey(stand.key), apikey(stand.key)], /^Send exactly one API key, once, /],
      [[apikey(key)], /^This server has no such API key\. It may be a key of a different server, /],
    ] as const) {
      const { status, body } = await ask(lines);
      const { detail } = JSON.parse(body);
      assert.equal(status, 401);
      if (typeof advice === 'string') assert.equal(detail, advice);
      else assert.match(detail, advice);
    }
  });

  it('as a bearer token is used by HEAD, OPTIONS and conditional requests', async () => {
    const whole = await ask([bearer(stand.key)]);
    const head = await ask([bearer(stand.key)], 'HEAD');
    assert.deepEqual([head.status, head.body], [200, '']);
    assert.equal(head.headers.get('content-length'), whole.headers.get('content-length'));
    assert.equal((await ask([bearer(stand.key)], 'OPTIONS')).status, 204);
    const known = [bearer(stand.key), `if-none-match: ${whole.headers.get('etag')}`];
    assert.equal((await ask(known)).status, 304);
    assert.equal((await ask(known.slice(1), 'HEAD')).status, 401);
  });

  it('determines the response to the same request, whichever field it is in', async () => {
    const seen = new Set<string>();
    for (let round = 0; round < 3; round++) {
      for (const [form, key] of [
        [bearer, stand.key],
        [apikey, narrow],
        [bearer, narrow],
        [apikey, stand.key],
      ] as const) {
        const { status, body } = await ask([form(key)]);
        assert.equal(status, 200);
        assert.equal(body === '[]', key === narrow);
        seen.add(body);
      }
    }
    assert.equal(seen.size, 2);
  });

  it('as a bearer token opens a live stream', async () => {
    const socket = connect(stand.port, '127.0.0.1');
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk;
    });
    socket.write(
      `GET /a/v1/events HTTP/1.1\r\nhost: x\r\n${bearer(stand.key)}\r\naccept: text/event-stream\r\n\r\n`,
    );
    await until(() => received.includes('\r\n\r\n'));
    assert.match(received, /^HTTP\/1\.1 200 /);
    assert.match(received, /content-type: text\/event-stream/i);
    socket.destroy();
  });

  it('as a bearer token is allowed to pages of a configured origin', async () => {
    const preflight = [
      `origin: ${ORIGIN}`,
      'access-control-request-method: GET',
      'access-control-request-headers: authorization',
    ];
    const allowed = await ask(preflight, 'OPTIONS');
    assert.equal(allowed.status, 204);
    assert.match(allowed.headers.get('access-control-allow-headers') ?? '', /(^|, )authorization(,|$)/);
    const reply = await ask([bearer(stand.key), `origin: ${ORIGIN}`]);
    assert.equal(reply.headers.get('access-control-allow-origin'), ORIGIN);
  });

  it('is not taken from other schemes of Authorization', async () => {
    const basic = `Basic ${Buffer.from(`:${stand.key}`).toString('base64')}`;
    for (const value of [
      basic,
      stand.key,
      `Token ${stand.key}`,
      `Bearer${stand.key}`,
      `Bearer\t${stand.key}`,
    ]) {
      const refused = assertProblem(await ask([`Authorization: ${value}`]), 401, 'key-missing');
      assert.match(
        String(refused['detail']),
        /"Authorization: Bearer KEY"\. Other schemes .* are ignored\.$/,
      );
      assert.equal((await ask([apikey(stand.key), `Authorization: ${value}`])).status, 200, value);
    }
    // A proxy may add its own credentials.
    assert.equal((await ask(['Authorization: Basic dTpw', bearer(stand.key)])).status, 200);
    assert.equal((await ask([bearer(stand.key), 'Authorization: Basic dTpw'])).status, 200);
  });
});

describe('a request with more than one key', () => {
  it('is 400 if apikey and the bearer token differ, even if one of them is not valid', async () => {
    for (const lines of [
      [apikey(stand.key), bearer(narrow)],
      [bearer(narrow), apikey(stand.key)],
      [apikey(stand.key), bearer('cork_no_such_key')],
      [apikey('cork_no_such_key'), bearer(stand.key)],
      [apikey('cork_no_such_key'), bearer('cork_another')],
      [apikey(stand.key), bearer(stand.key), bearer(narrow)],
      [apikey(stand.key), bearer(stand.key), bearer(stand.key)],
      [apikey(stand.key), apikey(narrow), bearer(stand.key)],
    ]) {
      for (const [method, path] of [
        ['GET', '/a/v1/boards'],
        ['OPTIONS', '/a/v1/boards'],
        ['POST', '/b/v1/nowhere'],
      ] as const) {
        const reply = await ask(lines, method, path);
        const { detail } = assertProblem(reply, 400, 'key-ambiguous');
        assert.match(String(detail), /"apikey" and "Authorization" contain different keys/);
        for (const key of [stand.key, narrow]) assert.ok(!reply.body.includes(key));
      }
      const head = await ask(lines, 'HEAD');
      assert.deepEqual([head.status, head.body], [400, '']);
    }
  });

  it('is 401 if a field is repeated', async () => {
    for (const lines of [
      [bearer(stand.key), bearer(stand.key)],
      [bearer(stand.key), bearer(narrow)],
      [bearer(narrow), 'Authorization: Basic dTpw', bearer(stand.key)],
      [apikey(stand.key), apikey(stand.key)],
      [apikey(stand.key), apikey(stand.key), bearer(`${stand.key}, ${stand.key}`)],
      [bearer(`${stand.key}, Bearer ${stand.key}`)],
      [bearer(`${stand.key},`)],
    ]) {
      const { detail } = assertProblem(await ask(lines), 401, 'key-unknown');
      assert.match(String(detail), /exactly one API key, once/);
    }
  });
});

describe('a refusal with 401', () => {
  it('names both ways to send a key, and calls a key that is not valid an invalid token', async () => {
    const expired = await stand.makeKey({}, Date.now() - 1);
    const missing = await ask([]);
    assertProblem(missing, 401, 'key-missing');
    assert.equal(missing.headers.get('www-authenticate'), CHALLENGE);
    for (const form of [apikey, bearer]) {
      for (const [key, code] of [
        ['cork_no_such_key', 'key-unknown'],
        ['x'.repeat(300), 'key-unknown'],
        [`${stand.key} `.repeat(2), 'key-unknown'],
        [expired, 'key-expired'],
      ] as const) {
        const reply = await ask([form(key)]);
        assertProblem(reply, 401, code);
        assert.equal(reply.headers.get('www-authenticate'), `${CHALLENGE}, error="invalid_token"`);
      }
    }
  });
});

describe('a key with networks', () => {
  const from = (address: string) => ({ 'x-forwarded-for': address });

  async function statusesOf(proxied: Stand, networks: readonly string[], addresses: readonly string[]) {
    const key = await proxied.makeKey({ networks });
    return await Promise.all(
      addresses.map(async (address) => {
        const response = await proxied.get('/a/v1/boards', { apikey: key, ...from(address) });
        await response.text();
        return response.status;
      }),
    );
  }

  it('is 403 outside of them, and the response does not name them', async () => {
    const key = await stand.makeKey({ networks: ['192.0.2.0/24', '2001:db8::/32'] });
    const reply = await ask([apikey(key)]);
    const { detail } = assertProblem(reply, 403, 'network-not-allowed');
    assert.doesNotMatch(JSON.stringify([detail, ...reply.headers]), /192\.0\.2|2001:db8/);
    assert.equal(reply.headers.get('www-authenticate'), undefined);
    await until(() => stand.log.some((one) => one['key'] === idOf(key)));
    const line = stand.log.find((one) => one['key'] === idOf(key));
    assert.deepEqual([line?.['code'], line?.['client']], ['network-not-allowed', '127.0.0.1']);
    const entries = await stand.keyring.list();
    assert.equal(entries.find(({ id }) => id === idOf(key))?.lastUsedMs, undefined);
  });

  it('is found at the address of the connection, whatever X-Forwarded-For says', async () => {
    const inside = await stand.makeKey({ networks: ['127.0.0.0/8'] });
    const outside = await stand.makeKey({ networks: ['192.0.2.7'] });
    assert.equal((await ask([apikey(inside), 'x-forwarded-for: 192.0.2.7'])).status, 200);
    assertProblem(await ask([apikey(outside), 'x-forwarded-for: 192.0.2.7']), 403, 'network-not-allowed');
  });

  it('is found at the last address that is not a trusted proxy, in either notation', async (t) => {
    const proxied = await openStand({ trustedProxies: ['127.0.0.1', '10.1.0.0/16'] });
    t.after(() => proxied.close());
    assert.deepEqual(
      await statusesOf(
        proxied,
        ['192.0.2.0/24', '2001:db8::/32'],
        [
          ...['192.0.2.7', '198.51.100.7, 192.0.2.7, 10.1.2.3', '192.0.2.7, 198.51.100.7'],
          ...[
            '::ffff:192.0.2.7',
            '::ffff:c000:207',
            '2001:DB8:1::1',
            '2001:db9::1',
            'unknown',
            '192.0.2.7:80',
          ],
        ],
      ),
      [200, 200, 403, 200, 200, 200, 403, 403, 403],
    );
    // The address of the proxy itself does not stand in for an unknown client.
    assert.deepEqual(await statusesOf(proxied, ['127.0.0.1'], ['unknown']), [403]);
    assert.deepEqual(await statusesOf(proxied, ['::/1', '8000::/1'], ['192.0.2.7', '::1']), [403, 200]);
  });

  it('is refused if trusted proxies name no client, even in their own networks', async (t) => {
    const proxied = await openStand({ trustedProxies: ['::ffff:127.0.0.1', '10.1.0.0/16'] });
    t.after(() => proxied.close());
    const key = await proxied.makeKey({ networks: ['127.0.0.0/8', '10.0.0.0/8'] });
    const send = (lines: readonly string[]) => ask([apikey(key), ...lines], 'GET', '/a/v1/boards', proxied);
    for (const lines of [
      [],
      ['x-forwarded-for:'],
      ['x-forwarded-for:   '],
      ['x-forwarded-for: ,'],
      ['x-forwarded-for: , ,', 'x-forwarded-for:'],
      ['forwarded: for=10.2.0.1'],
      ['x-real-ip: 10.2.0.1'],
      ['x-forwarded-for: 127.0.0.1'],
      ['x-forwarded-for: 10.1.2.3, ::ffff:127.0.0.1'],
    ]) {
      assertProblem(await send(lines), 403, 'network-not-allowed');
    }
    assert.equal((await send(['x-forwarded-for: 10.2.0.1'])).status, 200);
    assert.equal((await send(['x-forwarded-for: 10.2.0.1, 10.1.2.3'])).status, 200);
    await until(() => proxied.log.filter((line) => line['key'] === idOf(key)).length === 11);
    const lines = proxied.log.filter((line) => line['key'] === idOf(key));
    // Without a client, the log has the address of a proxy.
    assert.deepEqual(
      [0, 7, 8, 9].map((at) => lines[at]?.['client']),
      ['127.0.0.1', '127.0.0.1', '10.1.2.3', '10.2.0.1'],
    );
  });
});

describe('the log', () => {
  it('never contains a bearer token', async () => {
    await ask([bearer(narrow)], 'GET', '/a/v1/users');
    await ask([bearer(narrow), apikey(stand.key)], 'GET', '/a/v1/users');
    await until(() => stand.log.some((line) => line['status'] === 400));
    const log = JSON.stringify(stand.log);
    for (const key of [narrow, stand.key]) assert.ok(!log.includes(key));
  });
});
