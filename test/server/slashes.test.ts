/** Redundant slashes, which clients add by joining a base and a path, are ignored (decision 67). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { PUBLISHED_PATHS } from './published-paths.ts';
import { openStand, type Stand, until } from './stand.ts';

let stand: Stand;
before(async () => {
  stand = await openStand();
});
after(() => stand.close());

/** Status, entity tag and body of a response. */
async function appearance(path: string): Promise<readonly unknown[]> {
  const response = await stand.get(path);
  const body = (await response.text()).replace(/"request_id":"[^"]*"/, '');
  return [response.status, response.headers.get('etag'), body];
}

describe('redundant slashes', () => {
  it('after the base, elsewhere or at the end are ignored on every route', async () => {
    for (const { base, path } of PUBLISHED_PATHS) {
      const expected = await appearance(path);
      const rest = path.slice(base.length);
      for (const spelt of [`${base}/${rest}`, `${path}/`, `/${path}//`, path.replaceAll('/', '//')]) {
        assert.deepEqual(await appearance(spelt), expected, spelt);
      }
    }
  });

  it('are ignored for documents, pages and health checks', async () => {
    for (const path of [
      ...['/docs/', '//docs', '/problems//not-found/', '/livez/', '//readyz', '//'],
      ...['//openapi.json', '/a//openapi.json', '/b/openapi.json/', '/insights//v1/openapi.json'],
    ]) {
      const response = await fetch(stand.url + path);
      await response.text();
      assert.equal(response.status, 200, path);
    }
  });

  it('do not bypass the check of the key', async () => {
    for (const path of ['/a//v1/boards', '//v1/boards/', '/a/v1/', '/b//users', '//a///v1//nowhere']) {
      const response = await fetch(stand.url + path);
      assert.match(await response.text(), /"code":"key-missing"/, path);
    }
  });

  it('appear neither in links nor in the log', async () => {
    const response = await stand.get('/a//v1/events//?limit=1');
    await response.text();
    assert.match(response.headers.get('link') ?? '', /^<\/a\/v1\/events\?limit=1&cursor=/);
    await until(() => stand.log.some(({ path }) => path === '/a/v1/events'));
    const shown = stand.log.flatMap(({ path, route }) => [`${path}`, `${route}`]);
    for (const text of shown) assert.doesNotMatch(text, /\/\/|[^/]\/$/);
  });

  it('that are percent-encoded are part of a name', async () => {
    assert.equal((await stand.get('/a/v1/lti/lti-7%2F/points')).status, 404);
    assert.equal((await stand.get('/a/v1/lti/lti-7/points')).status, 200);
  });
});
