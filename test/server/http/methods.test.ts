import assert from 'node:assert/strict';
import { METHODS } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { assertProblem, head, openStand, type Stand, sendRaw } from '../stand.ts';

let stand: Stand;
before(async () => {
  stand = await openStand();
});
after(() => stand.close());

const ask = (method: string, target: string, fields: Record<string, string> = {}) =>
  sendRaw(stand.port, head(method, target, { apikey: stand.key, ...fields }));

describe('a request', () => {
  const READING = ['GET', 'HEAD', 'OPTIONS'];
  const PATHS = [
    '/',
    '/livez',
    '/docs',
    '/nowhere',
    '/a/v1/events',
    '/a/v1/nowhere',
    '/b/v1/board/7',
    '/b/users',
    '/v1/users',
    '/a/openapi.json',
    '/%zz',
  ];

  for (const method of METHODS.filter((known) => !READING.includes(known))) {
    it(`${method} is 405 with Allow on every path`, async () => {
      for (const path of method === 'CONNECT' ? ['example.org:443'] : PATHS) {
        const reply = await ask(method, path);
        assertProblem(reply, 405, 'method-not-allowed');
        assert.equal(reply.headers.get('allow'), 'GET, HEAD, OPTIONS');
      }
    });
  }

  for (const method of ['FOO', 'get', 'G@T', 'PROPFINDX']) {
    it(`${method}, which is unknown to HTTP, is 501`, async () => {
      assertProblem(await ask(method, '/a/v1/events'), 501, 'method-not-implemented');
    });
  }

  it('has its key checked before its method, path and form', async () => {
    for (const method of ['POST', 'TRACE', 'QUERY', 'OPTIONS', 'GET']) {
      for (const path of [
        '/a/v1/events',
        '/b/v1/nowhere',
        '/v1',
        '/a/v1/%zz',
        '/%61/v1/events',
        '/b/users',
        '/a%2fv1%2f',
      ]) {
        const reply = await sendRaw(stand.port, head(method, path));
        assertProblem(reply, 401, 'key-missing');
        assert.ok(reply.headers.get('www-authenticate'));
      }
    }
  });

  it('with a wrong method and a body of any type is 405 and nothing else', async () => {
    for (const type of ['application/json', 'text/html; charset', ';;;', '']) {
      const request = head('POST', '/a/v1/events', {
        apikey: stand.key,
        'content-type': type,
        'content-length': '7',
      });
      assertProblem(await sendRaw(stand.port, `${request}{"a":1}`), 405, 'method-not-allowed');
    }
  });

  it('with OPTIONS is 204 with Allow, 401 without a required key, and 404 for an unknown path', async () => {
    const reply = await ask('OPTIONS', '/a/v1/events');
    assert.equal(reply.status, 204);
    assert.equal(reply.headers.get('allow'), 'GET, HEAD, OPTIONS');
    assert.equal(reply.headers.get('access-control-allow-origin'), undefined);
    assert.equal((await sendRaw(stand.port, head('OPTIONS', '/livez'))).status, 204);
    assert.equal((await sendRaw(stand.port, head('OPTIONS', '*'))).status, 204);
    assertProblem(await ask('OPTIONS', '/a/v1/nowhere'), 404, 'not-found');
  });
});
