/**
 * Limits on the responses that keys and organizations may have at once (decision 60), over real
 * sockets.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Limits } from '../../../src/server/limits/limits.ts';
import { publishRecords, type Records, WORLD } from '../../dataset/small-world.ts';
import { describeOver, READINGS, type StorageKind } from '../../storage.ts';
import { askSlowly, assertRefused, metric, type SlowClient } from '../slow-client.ts';
import { largeRecords, openStand, type Stand, until } from '../stand.ts';

const OTHER = 'lake';

/** Enough users that their points are a large response. */
const MEMBERS = Array.from({ length: 4_000 }, (_, at) => BigInt(at + 1_000));
const LARGE = largeRecords(12, 2_000);
const RECORDS: Records = {
  ...LARGE,
  users: [...(LARGE.users ?? []), ...MEMBERS.map((id) => ({ id, email: `user${id}@x.example` }))],
  memberships: [...(LARGE.memberships ?? []), ...MEMBERS.map((userId) => ({ boardId: 7n, userId }))],
};

/** A server with a large organization and a small one. */
async function openTwo(kind: StorageKind, limits: Partial<Limits>): Promise<Stand & { otherKey: string }> {
  const stand = await openStand({ kind, records: RECORDS, limits, heartbeatMs: 200 });
  await stand.store.createOrganization(OTHER, {});
  await publishRecords(stand.store, OTHER, WORLD);
  return { ...stand, otherKey: await stand.makeKey({ organization: OTHER }) };
}

describeOver(READINGS, 'large responses', {}, (kind) => {
  let stand: Stand & { otherKey: string };
  let second: string;
  let third: string;
  const slow: SlowClient[] = [];

  before(async () => {
    stand = await openTwo(kind, {
      'responses-per-key': 2,
      'responses-per-organization': 3,
      responses: 4,
    });
    second = await stand.makeKey();
    third = await stand.makeKey();
  });
  after(() => stand.close());

  const inUse = () => metric(stand, 'corkboard_in_use{limit="responses"}');

  /** Usually sent from a file that was made for the first response. */
  async function hold(key: string, headers: Record<string, string> = {}): Promise<void> {
    const client = await askSlowly(stand, '/a/v1/events', { apikey: key, ...headers });
    assert.equal(client.status, 200);
    slow.push(client);
  }

  async function letGo(): Promise<void> {
    vanish();
    await until(async () => (await inUse()) === 0);
  }

  function vanish(): void {
    for (const client of slow.splice(0)) client.vanish();
  }

  it('are limited per key and per organization, without an effect on others', async () => {
    await hold(stand.key);
    await hold(stand.key, { accept: 'text/csv' });
    const again = askSlowly(stand, '/a/v1/events', { 'accept-encoding': 'zstd' });
    await assertRefused(again, 429, 'too-many-responses', 'responses-per-key');
    await hold(second);
    const fourth = askSlowly(stand, '/a/v1/events', { apikey: third });
    await assertRefused(fourth, 429, 'too-many-responses', 'responses-per-organization');
    assert.equal(await metric(stand, 'corkboard_limit_refusals_total{limit="responses-per-key"}'), 1);
    // Small responses are never refused.
    for (const path of ['/a/v1/boards', '/a/v1/events?limit=10', '/readyz']) {
      assert.equal((await stand.get(path)).status, 200, path);
    }
    assert.equal((await stand.get('/a/v1/events', { apikey: stand.otherKey })).status, 200);
    assert.equal(await inUse(), 3);
    await letGo();
  });

  it('include tables of points', async () => {
    const points = '/insights/v1/points';
    await hold(stand.key);
    await hold(stand.key, { accept: 'text/csv' });
    const refused = askSlowly(stand, `${points}?start=0`);
    await assertRefused(refused, 429, 'too-many-responses', 'responses-per-key');
    assert.equal((await stand.get(`${points}?limit=10`)).status, 200);
    await letGo();
    const whole = await stand.get(`${points}?start=0`);
    assert.equal(whole.status, 200);
    await whole.text();
  });

  it('are not counted for 304, and for HEAD only while their size is determined', async () => {
    const tag = (await stand.get('/a/v1/events', {}, 'HEAD')).headers.get('etag') ?? '';
    assert.equal(await inUse(), 0);
    await hold(stand.key);
    await hold(stand.key);
    assert.equal((await stand.get('/a/v1/events', { 'if-none-match': tag })).status, 304);
    const bare = askSlowly(stand, '/a/v1/events?start=-1', {}, 'HEAD');
    assert.equal((await bare).status, 429);
    assert.equal((await stand.get('/a/v1/events', {}, 'HEAD')).status, 200);
    assert.equal(await inUse(), 2);
    await letGo();
  });

  it('include those of a live stream, before and between its messages', async () => {
    await hold(stand.key);
    await hold(stand.key);
    const stream = { accept: 'text/event-stream' };
    const whole = askSlowly(stand, '/a/v1/events?since=start', stream);
    await assertRefused(whole, 429, 'too-many-responses', 'responses-per-key');
    const idle = await stand.get('/a/v1/events', stream);
    const messages = idle.body!.pipeThrough(new TextDecoderStream()).getReader();
    /** Keeps only what may be the beginning of the name: the stream is larger than 10 MB. */
    const readTo = async (wanted: string) => {
      for (let end = ''; !end.includes(wanted); ) {
        const { value } = await messages.read();
        assert.ok(value !== undefined, 'the stream has ended');
        end = end.slice(1 - wanted.length) + value;
      }
    };
    await readTo('event: synced');
    await stand.publish({ users: [{ id: 5n, email: 'new@x.example' }] });
    // Each heartbeat tries again.
    const refusals = 'corkboard_limit_refusals_total{limit="responses-per-key"}';
    const before = await metric(stand, refusals);
    await until(async () => (await metric(stand, refusals)) >= before + 2);
    assert.equal(await inUse(), 2);
    vanish();
    // The stream takes its share at once, so none may be free at any moment before it has sent
    // everything.
    await readTo('event: synced');
    await messages.cancel();
    await letGo();
  });

  it('return their share when they have ended, for any reason', async () => {
    for (const encoding of ['identity', 'gzip']) {
      const whole = await stand.get('/a/v1/events', { 'accept-encoding': encoding });
      assert.ok((await whole.text()).endsWith(']'));
      await hold(stand.key);
      await hold(stand.key);
      await letGo();
    }
  });

  it('are limited per process, and beyond that the server is busy', async () => {
    await hold(stand.key);
    await hold(stand.key);
    await hold(second);
    await publishRecords(stand.store, OTHER, largeRecords(12, 2_000));
    const byteLength = async () => {
      const { headers } = await stand.get('/a/v1/events', { apikey: stand.otherKey }, 'HEAD');
      return Number(headers.get('content-length'));
    };
    await until(async () => (await byteLength()) > 10e6);
    // The last share, which the first organization may not take.
    await hold(stand.otherKey);
    const busy = askSlowly(stand, '/a/v1/events', { apikey: stand.otherKey });
    await assertRefused(busy, 503, 'server-busy', 'responses');
    await letGo();
  });
});

describeOver(READINGS, 'five hundred concurrent exports with default limits', {}, (kind) => {
  it('leave a server ready, and available to other organizations', async (t) => {
    const stand = await openTwo(kind, {});
    t.after(() => stand.close());
    const started = Array.from({ length: 500 }, (_, at) => askSlowly(stand, `/a/v1/events?start=${-at}`));
    const beside = Promise.all([
      stand.get('/readyz'),
      stand.get('/a/v1/boards', { apikey: stand.otherKey }),
      stand.get('/a/v1/events', { apikey: stand.otherKey }),
    ]);
    for (const { status } of await beside) assert.equal(status, 200);
    const statuses = (await Promise.all(started)).map((client) => {
      client.vanish();
      return client.status;
    });
    // At most the limit of the key at a time. The share of a client that has left may have been
    // taken by another one.
    assert.deepEqual(new Set(statuses), new Set([200, 429]));
    assert.ok((await metric(stand, 'corkboard_limit_refusals_total{limit="responses-per-key"}')) >= 400);
    assert.equal((await stand.get('/readyz')).status, 200);
  });
});

describe('the memory of large responses', () => {
  it('is limited per key, which may always have one response', async (t) => {
    const stand = await openStand({
      records: largeRecords(12, 2_000),
      limits: { 'response-memory': 40e6, 'response-memory-per-key': 1e6 },
    });
    t.after(() => stand.close());
    const first = await askSlowly(stand, '/a/v1/events');
    assert.equal(first.status, 200);
    assert.equal(await metric(stand, 'corkboard_in_use{limit="response-memory"}'), 1e6);
    const again = askSlowly(stand, '/a/v1/events');
    await assertRefused(again, 429, 'too-many-responses', 'response-memory-per-key');
    first.vanish();
    await until(async () => (await metric(stand, 'corkboard_in_use{limit="response-memory"}')) === 0);
  });
});

describe('live streams', () => {
  it('are limited per key, organization and process, and return their shares', async (t) => {
    const stand = await openStand({
      limits: { 'streams-per-key': 1, 'streams-per-organization': 2, streams: 3 },
    });
    t.after(() => stand.close());
    await stand.store.createOrganization(OTHER, {});
    await publishRecords(stand.store, OTHER, WORLD);
    const keys = [stand.key, await stand.makeKey(), await stand.makeKey()];
    const others = [
      await stand.makeKey({ organization: OTHER }),
      await stand.makeKey({ organization: OTHER }),
    ];
    const stream = (key = '') =>
      askSlowly(stand, '/a/v1/events', { apikey: key, accept: 'text/event-stream' });
    const held = [await stream(keys[0])];
    await assertRefused(stream(keys[0]), 429, 'too-many-own-streams', 'streams-per-key');
    held.push(await stream(keys[1]));
    await assertRefused(stream(keys[2]), 429, 'too-many-own-streams', 'streams-per-organization');
    held.push(await stream(others[0]));
    await assertRefused(stream(others[1]), 503, 'too-many-streams', 'streams');
    assert.deepEqual(
      held.map(({ status }) => status),
      [200, 200, 200],
    );
    for (const client of held) client.vanish();
    await until(async () => (await metric(stand, 'corkboard_in_use{limit="streams"}')) === 0);
    const again = await stream(keys[0]);
    assert.equal(again.status, 200);
    again.vanish();
  });
});
