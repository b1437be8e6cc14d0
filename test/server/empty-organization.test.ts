/** An organization without data responds like an empty one, on every route (decision 67). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { REPRESENTATIONS } from '../../src/render/text/representations.ts';
import type { Route } from '../../src/server/request/route.ts';
import { WORLD } from '../dataset/small-world.ts';
import { type OpenApiDocument, type Oracle, openOracle } from './document-oracle.ts';
import { PUBLISHED_PATHS } from './published-paths.ts';
import {
  assertProblem,
  head,
  ORGANIZATION,
  openStand,
  type RawReply,
  type Stand,
  sendRaw,
  until,
} from './stand.ts';

describe('an organization without data', () => {
  let stand: Stand;
  let keys: readonly string[];
  let redacting: string;
  const oracles = new Map<string, Oracle>();

  before(async () => {
    stand = await openStand({ records: undefined });
    const boards = await stand.makeKey({ scope: { boards: [7n], users: 'of-boards' } });
    const redact = { email: true, name: true, id: true };
    redacting = await stand.makeKey({ redact, allowLmsLookup: true });
    keys = [stand.key, boards, redacting];
    for (const base of new Set(PUBLISHED_PATHS.map((published) => published.base))) {
      const path = base === '/insights' ? '/insights/v1/openapi.json' : `${base}/openapi.json`;
      const document: OpenApiDocument = JSON.parse(await (await fetch(stand.url + path)).text());
      oracles.set(base, openOracle(document));
    }
  });
  after(() => stand.close());

  /**
   * Asserts that status and body are those of an empty organization and conform to the OpenAPI
   * document.
   */
  function assertEmpty(reply: RawReply, base: string, route: Route): void {
    if (route.of !== 'organization') {
      const isCourse = route.path.startsWith('/course/');
      assertProblem(reply, 404, isCourse ? 'lookup-not-configured' : 'not-found');
      return;
    }
    assert.equal(reply.status, 200, reply.body);
    oracles.get(base)?.check(reply, `/v1${route.path}`, 'GET');
    const type = reply.headers.get('content-type')?.split(';')[0];
    if (type === REPRESENTATIONS.json.mediaType && base !== '/insights') assert.equal(reply.body, '[]');
    if (type === REPRESENTATIONS.ndjson.mediaType) assert.equal(reply.body, '');
    if (type === REPRESENTATIONS.csv.mediaType) {
      // The heat map has all hours of a week, also without events.
      const hours = route.path === '/heat-map' ? '(\\d,\\d+,0\r\n){168}' : '';
      assert.match(reply.body, new RegExp(`^[a-z_,]+\r\n${hours}$`));
    }
  }

  it('has empty responses, or 404 for a board or a user, on every route and in every representation', async () => {
    for (const { base, path, route } of PUBLISHED_PATHS) {
      for (const apikey of keys) {
        for (const representation of route.representations) {
          if (representation === 'event-stream') continue;
          const fields = { apikey, accept: REPRESENTATIONS[representation].mediaType };
          const reply = await sendRaw(stand.port, head('GET', path, fields));
          if (apikey === redacting && route.namesUsers) assertProblem(reply, 403, 'gradebook-not-allowed');
          else assertEmpty(reply, base, route);
        }
      }
    }
  });

  it('has entity tags that can be revalidated', async () => {
    const tag = (await stand.get('/a/v1/events')).headers.get('etag') ?? '';
    assert.equal((await stand.get('/a/v1/events', { 'if-none-match': tag })).status, 304);
  });

  it('has a different entity tag after its settings have changed', async () => {
    const overview = async () => {
      const response = await stand.get('/insights/v1/overview');
      const { organization } = (await response.json()) as { organization: { name: string } };
      return { name: organization.name, tag: response.headers.get('etag') };
    };
    const before = await overview();
    const publication = await stand.store.beginPublication(ORGANIZATION, { waitMs: 0 });
    publication.changeSettings({ title: 'Renamed' });
    await publication.publish();
    await until(async () => (await overview()).name === 'Renamed');
    assert.notEqual((await overview()).tag, before.tag);
  });

  it('leaves its server ready', async () => {
    assert.equal((await fetch(`${stand.url}/readyz`)).status, 200);
  });

  it('has sync tokens and live streams that continue with its first version', async () => {
    const changes = await stand.get('/a/v1/events?since=start');
    assert.equal(await changes.text(), '[]');
    const token = changes.headers.get('sync-token') ?? '';
    const stream = await stand.get('/a/v1/events', { accept: 'text/event-stream' });
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    assert.ok(reader);
    let told = '';
    while (!told.includes('event: synced')) told += (await reader.read()).value;
    assert.ok(!told.includes('"sync_id"'));
    await stand.publish(WORLD);
    const count = WORLD.events?.length ?? 0;
    while (told.split('"sync_id"').length <= count) told += (await reader.read()).value;
    await reader.cancel();
    const since = `/a/v1/events?since=${encodeURIComponent(token)}`;
    await until(async () => (await (await stand.get(since)).text()) !== '[]');
    const next: unknown[] = JSON.parse(await (await stand.get(since)).text());
    assert.equal(next.length, count);
  });
});
