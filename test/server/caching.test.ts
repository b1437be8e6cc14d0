import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openStand, type Stand, until } from './stand.ts';

let stand: Stand;

function standForAll(): void {
  before(async () => {
    stand = await openStand();
  });
  after(() => stand.close());
}

async function tagOf(path: string, headers: Record<string, string> = {}): Promise<string> {
  const response = await stand.get(path, headers);
  await response.text();
  assert.equal(response.status, 200, path);
  const tag = response.headers.get('etag') ?? '';
  assert.match(tag, /^"[A-Za-z0-9_-]{22}"$/);
  assert.equal(response.headers.get('cache-control'), 'private, no-cache');
  assert.equal(response.headers.get('vary'), 'apikey, Authorization, Accept, Accept-Encoding');
  return tag;
}

describe('a conditional request', () => {
  standForAll();

  it('gets the same tag for every spelling of the same query', async () => {
    const tag = await tagOf('/a/v1/events/board/7?start=1000&end=2000');
    for (const same of [
      '/a/v1/events/board/7?end=2000&start=1000',
      '/v1/events/board/7?start=1000&end=2000',
      '/a/v1/events/board/007?start=1970-01-01T00:16:40Z&end=1970-01-01T01:33:20%2B01:00',
      '/a/v1/events/board/%37?%73tart=1000&end=2000',
    ]) {
      assert.equal(await tagOf(same), tag, same);
    }
  });

  it('gets a response that may be revalidated, or that is not stored if it comes from a page of this server', async () => {
    const tag = await tagOf('/a/v1/events');
    for (const [site, cacheControl] of [
      ['same-origin', 'no-store'],
      ['same-site', 'private, no-cache'],
      ['cross-site', 'private, no-cache'],
      [undefined, 'private, no-cache'],
    ] as const) {
      for (const known of [undefined, tag]) {
        const response = await stand.get('/a/v1/events', {
          ...(site !== undefined && { 'sec-fetch-site': site }),
          ...(known !== undefined && { 'if-none-match': known }),
        });
        await response.text();
        assert.equal(response.status, known === undefined ? 200 : 304);
        assert.equal(response.headers.get('cache-control'), cacheControl, site);
        assert.equal(response.headers.get('etag'), tag);
      }
    }
  });

  it('gets a different tag if anything that affects the response differs', async () => {
    const scoped = await stand.makeKey({ scope: { boards: [7n], users: 'of-boards' } });
    const redacted = await stand.makeKey({ redact: { email: true, name: false, id: false } });
    const tags = [
      await tagOf('/a/v1/events'),
      await tagOf('/b/v1/events'),
      await tagOf('/a/v1/events/pins'),
      await tagOf('/a/v1/events/board/7'),
      await tagOf('/a/v1/events/board/8'),
      await tagOf('/a/v1/events/user/5'),
      await tagOf('/a/v1/events?start=1'),
      await tagOf('/a/v1/events?end=1'),
      await tagOf('/a/v1/events?limit=1'),
      await tagOf('/a/v1/events?limit=2'),
      await tagOf('/a/v1/events?format=csv'),
      await tagOf('/a/v1/events', { accept: 'application/x-ndjson' }),
      await tagOf('/a/v1/events', { 'accept-encoding': 'gzip' }),
      await tagOf('/a/v1/events', { 'accept-encoding': 'zstd' }),
      await tagOf('/a/v1/events', { apikey: scoped }),
      await tagOf('/a/v1/events', { apikey: redacted }),
      await tagOf('/a/v1/user/5/points'),
      await tagOf('/a/v1/user/5/points?key=board'),
    ];
    assert.equal(new Set(tags).size, tags.length);
  });

  it('gets the same tag for every key that sees the same data', async () => {
    assert.equal(await tagOf('/a/v1/boards', { apikey: await stand.makeKey() }), await tagOf('/a/v1/boards'));
  });

  it('gets the tag of its own key, also when other keys request the same in turn', async () => {
    const elsewhere = await openStand({ isUnique: true });
    const keys = [
      stand.key,
      await stand.makeKey({ scope: { boards: [7n], users: 'of-boards' } }),
      await stand.makeKey({ redact: { email: true, name: false, id: false } }),
      await stand.makeKey({ redact: { email: false, name: true, id: false } }),
    ];
    const round = async () => {
      const tags: string[] = [];
      for (const apikey of keys) tags.push(await tagOf('/a/v1/events/board/7', { apikey }));
      const other = await elsewhere.get('/a/v1/events/board/7');
      await other.text();
      return [...tags, other.headers.get('etag')];
    };
    const tags = await round();
    assert.equal(new Set(tags).size, keys.length + 1);
    assert.deepEqual(await round(), tags);
    await elsewhere.close();
  });

  it('gets a tag and the name of the version, which is the same on all routes for a key, and only there', async () => {
    const versionOf = async (path: string, headers: Record<string, string> = {}) => {
      const response = await stand.get(path, headers);
      await response.text();
      return response.headers.get('data-version');
    };
    const version = await versionOf('/a/v1/events');
    assert.match(version ?? '', /^[A-Za-z0-9_-]{22}$/);
    for (const path of [
      ...['/a/v1/events?since=start', '/b/v1/events?limit=1', '/a/v1/users?format=csv', '/b/v1/boards'],
      ...['/v1/user/5/points', '/insights/v1/points', '/insights/v1/overview'],
    ]) {
      assert.equal(await versionOf(path), version, path);
    }
    const scoped = await stand.makeKey({ scope: { boards: [7n], users: 'of-boards' } });
    const redacted = await stand.makeKey({ redact: { email: true, name: false, id: false } });
    assert.equal(await versionOf('/a/v1/users', { apikey: await stand.makeKey() }), version);
    const others = [
      await versionOf('/a/v1/users', { apikey: scoped }),
      await versionOf('/a/v1/users', { apikey: redacted }),
    ];
    assert.equal(new Set([version, ...others]).size, 3);
    const known = await stand.get('/a/v1/users', { 'if-none-match': await tagOf('/a/v1/users') });
    assert.deepEqual([known.status, known.headers.get('data-version')], [304, version]);
    for (const path of ['/a/v1/events/board/12345', '/a/v1/events?strat=1', '/a/openapi.json'])
      assert.equal(await versionOf(path), null, path);
  });

  it('gets a 304 with tag, caching rules and no body, with a list of tags and weak tags too', async () => {
    const tag = await tagOf('/a/v1/events');
    for (const header of [tag, `W/${tag}`, `"x", ${tag}`, `W/"a,b" ,W/${tag},"y"`, '*']) {
      for (const method of ['GET', 'HEAD']) {
        const response = await stand.get('/a/v1/events', { 'if-none-match': header }, method);
        assert.equal(response.status, 304, header);
        assert.equal(response.headers.get('etag'), tag);
        assert.equal(response.headers.get('cache-control'), 'private, no-cache');
        assert.equal(response.headers.get('vary'), 'apikey, Authorization, Accept, Accept-Encoding');
        assert.match(response.headers.get('server-timing') ?? '', /^total;dur=/);
        assert.equal(response.headers.get('content-type'), null);
        assert.equal(await response.text(), '');
      }
    }
    for (const header of ['"x"', tag.slice(1), tag.replaceAll('"', ''), `"${tag}`, '"*"', '']) {
      const response = await stand.get('/a/v1/events', { 'if-none-match': header });
      await response.text();
      assert.equal(response.status, header === `"${tag}` ? response.status : 200, header);
    }
  });

  it('gets a 404 without a tag for a missing resource, also for *', async () => {
    for (const path of ['/a/v1/events/board/12345', '/a/v1/user/12345/points', '/a/v1/lti/none/points']) {
      const response = await stand.get(path, { 'if-none-match': '*' });
      assert.equal(response.status, 404);
      assert.equal(response.headers.get('etag'), null);
      assert.equal(response.headers.get('cache-control'), 'no-store');
      assert.match(response.headers.get('server-timing') ?? '', /^total;dur=/);
      await response.text();
    }
  });

  it('is refused for other errors before its tag is checked', async () => {
    assert.equal((await stand.get('/a/v1/events?strat=1', { 'if-none-match': '*' })).status, 400);
    assert.equal((await stand.get('/a/v1/events', { 'if-none-match': '*', apikey: 'x' })).status, 401);
    const refused = await stand.get('/a/v1/events', { accept: 'image/png' });
    assert.equal(refused.status, 406);
    assert.equal(refused.headers.get('vary'), 'apikey, Authorization, Accept, Accept-Encoding');
  });

  it('gets a new tag and a new version after a publication', async () => {
    const tag = await tagOf('/a/v1/boards');
    const versionOf = async () => (await stand.get('/a/v1/users', {}, 'HEAD')).headers.get('data-version');
    const version = await versionOf();
    await stand.publish({ boards: [{ id: 99n, title: 'New' }] });
    await until(async () => (await tagOf('/a/v1/boards')) !== tag);
    assert.notEqual(await versionOf(), version);
  });
});

describe('paging', () => {
  standForAll();

  it('reaches every element once through Link, with any base, format and parameter order', async () => {
    for (const start of [
      '/a/v1/events?limit=2',
      '/v1/users?limit=1&format=ndjson',
      '/b/users?format=ndjson&limit=2',
    ]) {
      let next: string | undefined = start;
      let pages = 0;
      let elements = '';
      while (next !== undefined) {
        const response: Response = await stand.get(next, { accept: 'application/x-ndjson' });
        elements += await response.text();
        next = /^<(\/[^>]*)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1];
        pages += 1;
      }
      const all = await (
        await stand.get(start.replace(/limit=\d+&?/, ''), { accept: 'application/x-ndjson' })
      ).text();
      assert.equal(elements, all);
      assert.ok(pages > 1);
    }
  });

  it('refuses a cursor of a different query, scope or kind', async () => {
    const response = await stand.get('/a/v1/events?limit=1&start=0');
    const cursor = /cursor=([\w-]+)/.exec(response.headers.get('link') ?? '')?.[1];
    const scoped = await stand.makeKey({ scope: { boards: [7n], users: 'of-boards' } });
    assert.equal((await stand.get(`/v1/events?limit=3&start=0&cursor=${cursor}`)).status, 200);
    for (const [path, headers, code] of [
      [`/a/v1/events?limit=1&cursor=${cursor}`, {}, 'cursor-malformed'],
      [`/a/v1/events/pins?limit=1&start=0&cursor=${cursor}`, {}, 'cursor-malformed'],
      [`/a/v1/boards?limit=1&start=0&cursor=${cursor}`, {}, 'cursor-malformed'],
      [`/a/v1/events?limit=1&start=0&cursor=${cursor}`, { apikey: scoped }, 'cursor-scope-changed'],
      ['/a/v1/events?limit=1&start=0&cursor=AAAA', {}, 'cursor-malformed'],
    ] as const) {
      const refused = await stand.get(path, headers);
      assert.equal(JSON.parse(await refused.text()).code, code);
      assert.equal(refused.status, 400);
    }
  });
});

describe('negotiation', () => {
  standForAll();

  const cases = [
    [undefined, 'application/json'],
    ['*/*', 'application/json'],
    ['text/html,application/xhtml+xml,*/*;q=0.8', 'application/json'],
    ['application/*', 'application/json'],
    ['text/*', 'text/csv'],
    ['text/csv;q=0.5, application/x-ndjson', 'application/x-ndjson'],
    ['application/json;q=0.1, text/csv;q=0.2', 'text/csv'],
    ['application/json;q=0, */*', 'application/x-ndjson'],
    ['application/json; charset=utf-8', 'application/json'],
    ['application/json;odata=verbose', 'application/json'],
    ['application/x-ndjson;charset=UTF-8', 'application/x-ndjson'],
    ['text/csv; charset=utf-8; header=present', 'text/csv'],
    ['text/csv ; note="a, b; q=0 \\"c\\"" ; q=0.9, application/json;q=0.8', 'text/csv'],
    ['text/csv; charset=utf-8; q=0.1, application/json; charset=utf-8; Q=0.2', 'application/json'],
    ['application/vnd.apache.parquet; version=2', 'application/vnd.apache.parquet'],
    ['application/*;charset=utf-8;q=0.1, text/*;charset=utf-8', 'text/csv'],
    ['application/json;', 'application/json'],
  ] as const;
  for (const [accept, type] of cases) {
    it(`Accept: ${accept} gives ${type}`, async () => {
      const response = await stand.get('/a/v1/events', accept === undefined ? {} : { accept });
      assert.equal(response.headers.get('content-type')?.split(';')[0], type);
      await response.text();
    });
  }

  it('selects a live stream by its media type with any parameters', async () => {
    const accept = 'text/event-stream; charset=utf-8';
    const response = await stand.get('/a/v1/events', { accept }, 'HEAD');
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'text/event-stream');
  });

  it('names the parameter "format" or the header "Accept" in a 406, whichever was used', async () => {
    const detailOf = async (path: string, headers: Record<string, string> = {}) => {
      const response = await stand.get(path, headers);
      assert.equal(response.status, 406);
      const problem: { readonly detail: string } = JSON.parse(await response.text());
      return problem.detail;
    };
    for (const format of ['csv', 'parquet']) {
      const detail = await detailOf(`/a/v1/events?format=${format}&since=start`);
      assert.match(detail, new RegExp(`"format" asks for "${format}".* Use json or ndjson\\.$`));
      assert.doesNotMatch(detail, /Accept/);
    }
    const accepted = await detailOf('/a/v1/events?since=start', { accept: 'text/csv' });
    assert.match(accepted, /^The header "Accept" allows none/);
    const encoded = await detailOf('/a/v1/events', { 'accept-encoding': 'identity;q=0' });
    assert.match(encoded, /^The header "Accept-Encoding" allows none/);
  });

  it('prefers ?format= to Accept', async () => {
    const response = await stand.get('/b/v1/boards?format=csv', { accept: 'image/png' });
    assert.match(await response.text(), /^id,title,category\r\n/);
  });

  it('refuses an unavailable type with 406 and lists the available ones', async () => {
    const events = await stand.get('/a/v1/events', { accept: 'image/png' });
    assert.match(
      await events.text(),
      /Accept application\/json, application\/x-ndjson, text\/csv, application\/vnd.apache.parquet or text\/event-stream\./,
    );
    const points = await stand.get('/a/v1/board/7/points', { accept: 'text/csv' });
    assert.equal(points.status, 406);
    assert.match(await points.text(), /Accept application\/json\./);
    const encodings = await stand.get('/a/v1/events', { 'accept-encoding': 'identity;q=0, br' });
    assert.equal(encodings.status, 406);
    assert.equal((await stand.get('/a/v1/events', { 'accept-encoding': '*;q=0' })).status, 406);
  });

  it('selects the most preferred encoding, and none if none is accepted', async () => {
    const { request } = await import('node:http');
    const encodingFor = (accepted?: string) =>
      new Promise<string | undefined>((resolve) => {
        const headers = { apikey: stand.key, ...(accepted !== undefined && { 'accept-encoding': accepted }) };
        request(`${stand.url}/a/v1/events`, { headers, agent: false }, (response) => {
          resolve(response.headers['content-encoding']);
          response.resume();
        }).end();
      });
    assert.equal(await encodingFor(), undefined);
    assert.equal(await encodingFor(''), undefined);
    assert.equal(await encodingFor('br'), undefined);
    assert.equal(await encodingFor('gzip, deflate, br, zstd'), 'zstd');
    assert.equal(await encodingFor('gzip, deflate, br'), 'gzip');
    assert.equal(await encodingFor('GZIP'), 'gzip');
    assert.equal(await encodingFor('zstd;q=0.1, gzip;q=0.9'), 'gzip');
    assert.equal(await encodingFor('identity, gzip;q=0.5'), undefined);
    assert.equal(await encodingFor('gzip;q=0'), undefined);
  });
});
