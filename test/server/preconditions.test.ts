/** `If-Match` (RFC 9110, 13.1.1 and 13.2): a request for one specific response. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { REPRESENTATIONS } from '../../src/render/text/representations.ts';
import { PUBLISHED_PATHS } from './published-paths.ts';
import { assertProblem, head, largeRecords, openStand, type RawReply, type Stand, sendRaw } from './stand.ts';

/** More than one chunk. */
const MEGABYTES = 2;
const PAGES = ['/', '/docs', '/problems/not-found', '/openapi.json', '/a/openapi.json', '/b/openapi.json'];
const DOCUMENTS = [...PAGES, '/insights/v1/openapi.json'];

let stand: Stand;
before(async () => {
  stand = await openStand({ records: largeRecords(MEGABYTES, 2_000) });
});
after(() => stand.close());

const get = (path: string, fields: Record<string, string> = {}, method = 'GET') =>
  sendRaw(stand.port, head(method, path, { apikey: stand.key, ...fields }));

function assertUnmet(reply: RawReply): void {
  assertProblem(reply, 412, 'precondition-failed');
  assert.equal(reply.headers.get('etag'), undefined);
  assert.equal(reply.headers.get('content-encoding'), undefined);
}

describe('If-Match', () => {
  it('with a different tag is 412 on every route, if the response would be 200', async () => {
    for (const { path, route } of PUBLISHED_PATHS) {
      for (const representation of route.representations) {
        const accept = REPRESENTATIONS[representation].mediaType;
        for (const fields of [{ accept }, { accept, 'accept-encoding': 'gzip' }]) {
          const other = await get(path, { ...fields, 'if-match': '"x"' });
          if (representation === 'event-stream') {
            // Without `If-Match` the stream would not end.
            const bare = await get(path, fields, 'HEAD');
            if (bare.status === 200) assertUnmet(other);
            else assert.equal(other.status, bare.status);
            continue;
          }
          const plain = await get(path, fields);
          if (plain.status !== 200) {
            assert.equal(other.status, plain.status);
            continue;
          }
          assertUnmet(other);
          const tag = plain.headers.get('etag') ?? '';
          for (const list of [tag, `"x", ${tag}`, '*']) {
            assert.equal((await get(path, { ...fields, 'if-match': list }, 'HEAD')).status, 200, path);
          }
        }
      }
    }
  });

  it('with a different tag is 412 for documents, pages and health checks', async () => {
    for (const path of [...DOCUMENTS, '/livez', '/readyz', '/metrics']) {
      assertUnmet(await get(path, { 'if-match': '"x"' }));
      assertUnmet(await get(path, { 'if-match': '"x"', 'accept-encoding': 'gzip' }));
      assert.equal((await get(path, { 'if-match': '*' })).status, 200);
    }
  });

  it('is compared strongly, and for HEAD as for GET', async () => {
    const tag = (await get('/a/v1/boards')).headers.get('etag') ?? '';
    assertUnmet(await get('/a/v1/boards', { 'if-match': `W/${tag}` }));
    assertUnmet(await get('/a/v1/boards', { 'if-match': tag.replaceAll('"', '') }));
    assert.equal((await get('/a/v1/boards', { 'if-match': '"x"' }, 'HEAD')).status, 412);
    assert.equal((await get('/a/v1/boards', { 'if-match': '"x"' }, 'OPTIONS')).status, 204);
  });

  it('is checked after every other refusal and before If-None-Match', async () => {
    const unmet = { 'if-match': '"x"' };
    assert.equal((await get('/a/v1/boards', { ...unmet, apikey: 'x' })).status, 401);
    assert.equal((await get('/a/v1/boards?strat=1', unmet)).status, 400);
    assert.equal((await get('/a/v1/boards', { ...unmet, accept: 'image/png' })).status, 406);
    assert.equal((await get('/a/v1/events/board/12345', unmet)).status, 404);
    const tag = (await get('/a/v1/boards')).headers.get('etag') ?? '';
    assertUnmet(await get('/a/v1/boards', { ...unmet, 'if-none-match': tag }));
    assertUnmet(await get('/a/v1/boards', { ...unmet, 'if-none-match': '*' }));
    for (const known of [tag, '*']) {
      const met = await get('/a/v1/boards', { 'if-match': tag, 'if-none-match': known });
      assert.equal(met.status, 304);
    }
  });

  it('leaves the connection usable', async () => {
    const fields = { apikey: stand.key, connection: 'keep-alive', 'if-match': '"x"' };
    const requests = [head('GET', '/a/v1/events', fields), head('GET', '/livez')];
    const { status, body } = await sendRaw(stand.port, requests.join(''));
    assert.equal(status, 412);
    assert.match(body, /\}HTTP\/1\.1 200 /);
  });
});

it('If-Unmodified-Since is ignored, because no response has a date', async () => {
  const fields = { 'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' };
  const reply = await get('/a/v1/boards', fields);
  assert.deepEqual([reply.status, reply.headers.get('last-modified')], [200, undefined]);
});

describe('the documents and pages', () => {
  it('have a tag per encoding, and are not sent again to a client with this tag', async () => {
    for (const path of DOCUMENTS) {
      const plain = await get(path);
      const packed = await get(path, { 'accept-encoding': 'br, gzip' });
      assert.equal(plain.headers.get('content-encoding'), undefined);
      assert.equal(packed.headers.get('content-encoding'), 'gzip', path);
      assert.equal(gunzipSync(Buffer.from(packed.body, 'latin1')).toString('latin1'), plain.body);
      assert.notEqual(packed.headers.get('etag'), plain.headers.get('etag'));
      for (const [reply, encoding] of [
        [plain, 'identity'],
        [packed, 'gzip'],
      ] as const) {
        assert.equal(reply.headers.get('vary'), 'Accept-Encoding');
        assert.equal(reply.headers.get('cache-control'), 'no-cache');
        const tag = reply.headers.get('etag') ?? '';
        for (const known of [tag, `W/${tag}`, '*']) {
          const again = await get(path, { 'accept-encoding': encoding, 'if-none-match': known });
          assert.deepEqual([again.status, again.body, again.headers.get('etag')], [304, '', tag]);
        }
        const others = await get(path, { 'accept-encoding': encoding, 'if-none-match': '"x"' });
        assert.equal(others.status, 200);
      }
    }
  });
});
