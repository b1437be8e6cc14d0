import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { assertProblem, head, openStand, type Stand, sendRaw } from './stand.ts';

let stand: Stand;
before(async () => {
  stand = await openStand();
});
after(() => stand.close());

const ask = (method: string, target: string, fields: Record<string, string> = {}) =>
  sendRaw(stand.port, head(method, target, { apikey: stand.key, ...fields }));

const LARGEST_BODY = 64 * 1024;

/** A body in the chunked transfer coding, with chunks of at most 10,000 bytes. */
function chunked(body: string): string {
  const chunks = body.match(/.{1,10000}/g) ?? [];
  return [...chunks, ''].map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('');
}

describe('a request', () => {
  it('is 400 if percent-encodings are malformed or not UTF-8', async () => {
    for (const path of [
      '/a/v1/lti/%/points',
      '/a/v1/lti/%zz/points',
      '/a/v1/lti/%ff/points',
      '/a/v1/%c3%28',
      '/%',
    ]) {
      assertProblem(await ask('GET', path), 400, 'request-malformed');
    }
    for (const query of ['start=%', 'start=%zz', '%ff=1', 'start=%c0%80']) {
      assertProblem(await ask('GET', `/a/v1/events?${query}`), 400, 'request-malformed');
    }
  });

  it('is 400 if the URL has raw bytes, control characters or a fragment', async () => {
    for (const target of ['/a/v1/lti/\xc3\xa9/points', '/a/v1/events#top', '/\x7f']) {
      assertProblem(
        await sendRaw(stand.port, Buffer.from(head('GET', target, { apikey: stand.key }), 'latin1')),
        400,
        'request-malformed',
      );
    }
  });

  it('has the names in its path decoded once, slashes and percent signs included', async () => {
    assert.equal((await ask('GET', '/a/v1/lti/lti%2D7/points')).status, 200);
    assert.equal((await ask('GET', '/a/v1/%6cti/lti-7/points')).status, 200);
    assertProblem(await ask('GET', '/a/v1/lti/lti%252D7/points'), 404, 'not-found');
    assertProblem(await ask('GET', '/a/v1/lti/lti%2F7/points'), 404, 'not-found');
    assertProblem(await ask('GET', '/a/v1/lti/%00/points'), 404, 'not-found');
    assert.equal((await ask('GET', '/a/v1/lms_user/sis/B%2D1/points')).status, 200);
    assertProblem(await ask('GET', '/a/v1/lms_user/other/B-1/points'), 404, 'lookup-not-configured');
  });

  it('has its parameters decoded once', async () => {
    assert.equal((await ask('GET', '/a/v1/events?%73tart=%31')).status, 200);
    assertProblem(await ask('GET', '/a/v1/events?%2573tart=1'), 400, 'parameter-unknown');
  });

  it('may have the absolute form of the URL', async () => {
    assert.equal((await ask('GET', 'http://elsewhere.example/a/v1/boards?limit=1')).status, 200);
    assert.equal((await sendRaw(stand.port, head('GET', 'http://elsewhere.example'))).status, 200);
    assertProblem(
      await sendRaw(stand.port, head('GET', 'http://elsewhere.example/a/v1/boards')),
      401,
      'key-missing',
    );
  });

  it('is 414 if the URL is longer than 8 KiB, and is otherwise read', async () => {
    assertProblem(await ask('GET', `/a/v1/events?x=${'y'.repeat(9_000)}`), 414, 'uri-too-long');
    assertProblem(await ask('GET', `/a/v1/events?x=${'y'.repeat(8_000)}`), 400, 'parameter-unknown');
    assertProblem(await ask('GET', `/a/v1/board/${'7'.repeat(8_000)}/points`), 400, 'identifier-malformed');
    assertProblem(await ask('GET', `/a/v1/events?x=${'y'.repeat(60_000)}`), 414, 'uri-too-long');
  });

  it('is 431 if the headers are larger than 16 KiB', async () => {
    assertProblem(await ask('GET', '/livez', { 'x-large': 'y'.repeat(20_000) }), 431, 'headers-too-large');
    assertProblem(await ask('GET', '/a/v1/events', { apikey: 'y'.repeat(10_000) }), 401, 'key-unknown');
  });

  it('is 400 if it is not HTTP', async () => {
    for (const bytes of [
      'GET /livez HTTP/9.9\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\r\n\r\n',
      'GET /a b HTTP/1.1\r\n\r\n',
    ]) {
      const reply = await sendRaw(stand.port, bytes);
      assert.ok([400, 501].includes(reply.status), String(reply.status));
      assert.equal(reply.headers.get('content-type'), 'application/problem+json');
    }
    assertProblem(await ask('GET', '/livez', { 'content-length': 'x' }), 400, 'request-malformed');
  });

  it('requires exactly one Host', async () => {
    const key = `apikey: ${stand.key}\r\n`;
    const none = await sendRaw(stand.port, `GET /a/v1/boards HTTP/1.1\r\n${key}connection: close\r\n\r\n`);
    assertProblem(none, 400, 'request-malformed');
    const two = await sendRaw(
      stand.port,
      `GET /livez HTTP/1.1\r\nhost: a\r\nhost: b\r\nconnection: close\r\n\r\n`,
    );
    assertProblem(two, 400, 'request-malformed');
    assert.equal((await sendRaw(stand.port, 'GET /livez HTTP/1.0\r\n\r\n')).status, 200);
  });

  it('may have a body of up to 64 KiB with GET or HEAD, which is ignored, with any type', async () => {
    const fields: Record<string, string>[] = [
      {},
      { 'content-type': 'application/json' },
      { 'content-type': 'odd' },
    ];
    for (const method of ['GET', 'HEAD']) {
      for (const more of fields) {
        for (const body of ['{}', 'x'.repeat(LARGEST_BODY)]) {
          const sent = head(method, '/a/v1/boards', {
            ...{ apikey: stand.key, 'content-length': `${body.length}` },
            ...more,
          });
          assert.equal((await sendRaw(stand.port, sent + body)).status, 200);
          const inChunks = head(method, '/a/v1/boards', {
            ...{ apikey: stand.key, 'transfer-encoding': 'chunked' },
            ...more,
          });
          assert.equal((await sendRaw(stand.port, inChunks + chunked(body))).status, 200);
        }
      }
    }
  });

  it('is 400 with a larger body, and with any body for OPTIONS', async () => {
    const body = 'x'.repeat(LARGEST_BODY + 1);
    for (const method of ['GET', 'HEAD']) {
      const announced = head(method, '/a/v1/boards', {
        ...{ apikey: stand.key, 'content-length': `${body.length}` },
      });
      const inChunks = head(method, '/a/v1/boards', {
        ...{ apikey: stand.key, 'transfer-encoding': 'chunked' },
      });
      for (const sent of [announced + body, announced, inChunks + chunked(body)]) {
        const reply = await sendRaw(stand.port, sent);
        assert.equal(reply.status, 400);
        assert.equal(reply.headers.get('connection'), 'close');
        if (method === 'GET') assertProblem(reply, 400, 'body-not-expected');
      }
    }
    const options = head('OPTIONS', '/a/v1/boards', { apikey: stand.key, 'content-length': '2' });
    assertProblem(await sendRaw(stand.port, `${options}{}`), 400, 'body-not-expected');
  });

  it('after a body gets its response in order on the same connection', async () => {
    const fields = { apikey: stand.key, connection: 'keep-alive' };
    const requests = [
      `${head('GET', '/a/v1/boards', { ...fields, 'content-length': '2' })}{}`,
      head('GET', '/a/v1/nowhere', fields),
      head('GET', '/a/v1/boards', { ...fields, 'transfer-encoding': 'chunked' }) + chunked('{"a":1}'),
      head('GET', '/a/v1/nowhere', { ...fields, connection: 'close' }),
    ];
    const { status, body } = await sendRaw(stand.port, requests.join(''));
    const others = [...body.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
    assert.deepEqual([status, ...others], [200, 404, 200, 404]);
  });

  it('is 400 if its body cannot be read', async () => {
    const sent = head('GET', '/a/v1/boards', { apikey: stand.key, 'transfer-encoding': 'chunked' });
    assertProblem(await sendRaw(stand.port, `${sent}no length\r\n`), 400, 'request-malformed');
  });

  it('with an unreadable body closes the connection after the responses before it', async () => {
    const fields = { apikey: stand.key, connection: 'keep-alive' };
    const first = head('GET', '/a/v1/events', fields);
    const second = head('GET', '/a/v1/boards', { ...fields, 'transfer-encoding': 'chunked' });
    const { status, body } = await sendRaw(stand.port, `${first}${second}no length\r\n`);
    assert.equal(status, 200);
    assert.doesNotMatch(body, /HTTP\/1\.1/);
  });

  it('with "Expect: 100-continue" is invited to send a body that is ignored', async () => {
    const fields = { apikey: stand.key, expect: '100-continue' };
    const small = `${head('GET', '/a/v1/boards', { ...fields, 'content-length': '2' })}{}`;
    const reply = await sendRaw(stand.port, small);
    assert.deepEqual([reply.interim, reply.status], [[100], 200]);
    const large = head('GET', '/a/v1/boards', { ...fields, 'content-length': '99999' });
    const refused = await sendRaw(stand.port, large);
    assertProblem(refused, 400, 'body-not-expected');
    assert.deepEqual(refused.interim, []);
  });

  it('may have other expectations and upgrades, which are ignored', async () => {
    assert.equal((await ask('GET', '/a/v1/boards', { expect: 'miracles' })).status, 200);
    const continued = head('POST', '/a/v1/boards', { expect: '100-continue', 'content-length': '9' });
    assertProblem(await sendRaw(stand.port, continued), 401, 'key-missing');
    const upgrade = { connection: 'upgrade, close', upgrade: 'websocket' };
    assert.equal((await ask('GET', '/a/v1/boards', upgrade)).status, 200);
  });

  it('is 401 if its key is empty, repeated or in the wrong place', async () => {
    assertProblem(await ask('GET', '/a/v1/boards', { apikey: '' }), 401, 'key-missing');
    const twice = head('GET', '/a/v1/boards', { apikey: stand.key, Apikey: stand.key });
    assertProblem(await sendRaw(stand.port, twice), 401, 'key-unknown');
    const query = await sendRaw(stand.port, head('GET', `/a/v1/boards?apikey=${stand.key}`));
    assertProblem(query, 401, 'key-missing');
  });

  it('has everything like a key removed from problems and from the log', async () => {
    const spelt = stand.key.replace('_', '%5f').replace('cork', '%63ork');
    for (const path of [
      `/a/v1/lti/${stand.key}`,
      `/a/v1/${spelt}`,
      `/a/v1/events?${stand.key}=1`,
      `/${stand.key}`,
    ]) {
      const reply = await ask('GET', path);
      assert.ok(reply.status >= 400);
      assert.ok(!reply.body.includes(stand.key.slice(6, 40)), reply.body);
    }
    assert.ok(!JSON.stringify(stand.log).includes(stand.key.slice(6, 40)));
  });

  it('for a route of the other variant is 404, after the check of the key', async () => {
    assertProblem(await ask('GET', '/b/v1/events/pins'), 404, 'not-found');
    assertProblem(await ask('GET', '/a/v1/pins'), 404, 'not-found');
    assertProblem(await ask('GET', '/a/users'), 404, 'not-found');
    assertProblem(await ask('GET', '/b/v1/board/7/points'), 404, 'not-found');
    assert.equal((await ask('GET', '/b/users?start=0&end=2000000000')).status, 200);
    assertProblem(await sendRaw(stand.port, head('GET', '/a/users')), 404, 'not-found');
  });

  it('is never a 5xx for any path, query or header, and every refusal has the same form', async () => {
    const segment = fc.oneof(
      fc.constantFrom(
        'a',
        'b',
        'v1',
        'events',
        'board',
        'users',
        'points',
        'lti',
        '7',
        '..',
        '.',
        '',
        '%2e',
        '%00',
      ),
      fc.string({ unit: 'grapheme-ascii', maxLength: 12 }).map((text) => text.replace(/[\s]/g, '')),
    );
    const query = fc.array(
      fc.tuple(fc.constantFrom('start', 'end', 'limit', 'cursor', 'format', 'key', 'x'), segment),
    );
    const target = fc
      .tuple(fc.array(segment), query)
      .map(([path, pairs]) => `/${path.join('/')}?${pairs.map((pair) => pair.join('=')).join('&')}`);
    const field = fc.constantFrom(
      'accept',
      'accept-encoding',
      'if-none-match',
      'host',
      'range',
      'origin',
      'content-type',
    );
    const value = fc.string({ unit: 'grapheme-ascii', maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(target, field, value, async (path, name, text) => {
        const reply = await ask('GET', path, { [name]: text });
        assert.ok(reply.status >= 200 && reply.status < 500, `${reply.status} ${reply.body}`);
        if (reply.status >= 400) assert.equal(reply.headers.get('content-type'), 'application/problem+json');
      }),
      { numRuns: 300 },
    );
  });
});
