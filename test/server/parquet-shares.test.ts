/**
 * Limits on the Parquet files that keys and organizations may have at once (decision 60), over real
 * sockets.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Dataset } from '../../src/dataset/dataset.ts';
import type { EventQuery } from '../../src/dataset/query.ts';
import type { Store } from '../../src/store/store.ts';
import { publishRecords, type Records, WORLD } from '../dataset/small-world.ts';
import { askSlowly, assertRefused, metric } from './slow-client.ts';
import { openStand, type Stand, until } from './stand.ts';

const OTHER = 'lake';
const PARQUET = { accept: 'application/vnd.apache.parquet' };

/**
 * `events` visits of 3,000 pins whose bodies do not compress, so that a Parquet file of the events
 * is as large as the bodies.
 */
function incompressibleRecords(events: number, bodyBytes = 1_000): Records {
  const pins = Array.from({ length: 3_000 }, (_, index) => ({
    ...{ id: BigInt(1_000 + index), boardId: 7n, ownerId: 5n, title: `Pin ${index}` },
    body: crypto.getRandomValues(Buffer.alloc(bodyBytes)).toString('base64'),
  }));
  return {
    ...WORLD,
    pins: [...(WORLD.pins ?? []), ...pins],
    events: Array.from({ length: events }, (_, index) => ({
      ...{ type: 'pin', action: 'visited', ownerId: 5n, actorId: 1n, boardId: 7n },
      ...{ pinId: pins[index % pins.length]!.id, timestampMs: index },
    })),
  };
}

/** A store whose datasets pass the events of every query through `change`. */
function withEvents(
  store: Store,
  change: (events: ReturnType<Dataset['events']>, query: EventQuery) => ReturnType<Dataset['events']>,
): Store {
  return replacing(store, 'openDataset', async (organization: string) => {
    const dataset = await store.openDataset(organization);
    return (
      dataset && replacing(dataset, 'events', (query: EventQuery) => change(dataset.events(query), query))
    );
  });
}

function replacing<T extends object>(target: T, member: string, replacement: unknown): T {
  return new Proxy(target, {
    get: (_, name) => {
      if (name === member) return replacement;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

describe('Parquet files', () => {
  /** One event per millisecond. */
  const EVENTS = 12_000;
  let stand: Stand;
  let second: string;
  let third: string;
  let gate = Promise.withResolvers<void>();
  let reading = 0;
  let isBroken = false;

  /** Passes batches on while the gate is open, or fails if `isBroken`. */
  async function* gated<T>(batches: AsyncIterable<T>): AsyncGenerator<T> {
    reading += 1;
    try {
      for await (const batch of batches) {
        await gate.promise;
        if (isBroken) throw new Error('the disk went away');
        yield batch;
      }
    } finally {
      reading -= 1;
    }
  }

  before(async () => {
    stand = await openStand({
      records: incompressibleRecords(EVENTS),
      around: (store) => withEvents(store, (events) => gated(events)),
      limits: {
        'parquet-files': 4,
        'parquet-files-per-organization': 3,
        'parquet-files-per-key': 2,
      },
    });
    await stand.store.createOrganization(OTHER, {});
    await publishRecords(stand.store, OTHER, WORLD);
    second = await stand.makeKey();
    third = await stand.makeKey();
  });
  after(async () => {
    gate.resolve();
    await stand.close();
  });

  const making = () => metric(stand, 'corkboard_in_use{limit="parquet-files"}');
  const disk = () => metric(stand, 'corkboard_in_use{limit="parquet-disk"}');

  function release(): void {
    gate.resolve();
    gate = Promise.withResolvers();
    gate.resolve();
  }

  function holdUp(): void {
    gate = Promise.withResolvers();
  }

  it('are made two at a time for a key, and its further ones wait; other keys and small files do not wait', async () => {
    holdUp();
    const own = Array.from({ length: 4 }, (_, at) => stand.get(`/a/v1/events?start=${at}`, PARQUET));
    await until(() => reading === 2);
    const others = stand.get('/a/v1/events', { apikey: second, ...PARQUET });
    await until(() => reading === 3);
    const refused = askSlowly(stand, '/a/v1/events?start=-1', { apikey: third, ...PARQUET });
    await assertRefused(refused, 429, 'too-many-responses', 'parquet-files-per-organization');
    const small = await stand.get('/b/v1/users', PARQUET);
    assert.equal(small.status, 200);
    const otherKey = await stand.makeKey({ organization: OTHER });
    release();
    assert.equal((await stand.get('/a/v1/events', { apikey: otherKey, ...PARQUET })).status, 200);
    for (const response of await Promise.all([...own, others])) {
      assert.equal(response.status, 200);
      await response.arrayBuffer();
    }
    assert.equal(await making(), 0);
    await until(async () => (await disk()) === 0);
  });

  it('are abandoned with their clients, both waiting ones and those being made', async () => {
    holdUp();
    const clients = Array.from({ length: 4 }, () => new AbortController());
    const asked = clients.map(({ signal }, at) =>
      fetch(`${stand.url}/a/v1/events?start=${4 + at}`, {
        headers: { apikey: stand.key, ...PARQUET },
        signal,
      }).catch(() => undefined),
    );
    await until(() => reading === 2);
    await until(async () => (await metric(stand, 'corkboard_in_use{limit="responses"}')) === 4);
    for (const client of clients) client.abort();
    await Promise.all(asked);
    // The waiting ones have left. The two that are being made end with their next piece.
    await until(async () => (await metric(stand, 'corkboard_in_use{limit="responses"}')) === 2);
    release();
    await until(async () => (await making()) === 0);
    await until(async () => (await metric(stand, 'corkboard_in_use{limit="responses"}')) === 0);
    await until(async () => (await disk()) === 0);
  });

  it('and other responses that fail return their share of the limits', async () => {
    isBroken = true;
    for (const headers of [PARQUET, {}]) {
      const failed = await stand.get('/a/v1/events?start=-2', headers);
      await failed.arrayBuffer().catch(() => undefined);
    }
    isBroken = false;
    await until(async () => (await metric(stand, 'corkboard_in_use{limit="responses"}')) === 0);
    assert.deepEqual([await making(), await disk()], [0, 0]);
    assert.equal((await stand.get('/a/v1/events?start=-2', PARQUET, 'HEAD')).status, 200);
  });

  it('that fail for the first key are made again for the next request', async () => {
    holdUp();
    const asked = [stand.key, second].map((apikey) =>
      stand.get('/a/v1/events?start=-7', { apikey, ...PARQUET }),
    );
    await until(() => reading === 1);
    isBroken = true;
    release();
    assert.deepEqual(
      (await Promise.all(asked)).map(({ status }) => status),
      [500, 500],
    );
    isBroken = false;
    assert.equal((await stand.get('/a/v1/events?start=-7', PARQUET, 'HEAD')).status, 200);
    await until(async () => (await making()) === 0);
  });

  it('are abandoned when their key is revoked while they are made', async () => {
    holdUp();
    const key = await stand.makeKey();
    const asked = askSlowly(stand, '/a/v1/events?start=-3', { apikey: key, ...PARQUET });
    await until(() => reading === 1);
    await stand.keyring.revoke(key.split('_')[1] ?? '');
    // Nothing of the response has been sent, and nothing will be.
    assert.equal((await asked).bodyBytes(), 0);
    release();
    await until(async () => (await making()) === 0);
    await until(() => stand.log.filter((line) => line['cut_for'] === 'key-ended').length === 1);
  });
});

describe('temporary files', () => {
  it('of a key count towards its limit until they have been sent; one that exceeds the limit alone is refused', async (t) => {
    const stand = await openStand({
      records: incompressibleRecords(12_000, 4_000),
      limits: { 'parquet-disk-per-key': 20e6 },
    });
    t.after(() => stand.close());
    const disk = () => metric(stand, 'corkboard_in_use{limit="parquet-disk"}');
    const client = await askSlowly(stand, '/a/v1/events', PARQUET);
    assert.equal(client.status, 200);
    assert.ok((await disk()) > 10e6);
    const again = askSlowly(stand, '/a/v1/events?start=-1', PARQUET);
    await assertRefused(again, 429, 'too-many-responses', 'parquet-disk-per-key');
    const same = await askSlowly(stand, '/a/v1/events', PARQUET);
    assert.equal(same.status, 200);
    client.vanish();
    assert.ok((await disk()) > 10e6);
    same.vanish();
    await until(async () => (await disk()) === 0);
    const bare = await askSlowly(stand, '/a/v1/events', PARQUET, 'HEAD');
    assert.equal(bare.status, 200);
    await bare.takeRest();
    await until(async () => (await disk()) === 0);
    await stand.publish(incompressibleRecords(24_000, 5_000));
    const larger = async () => {
      const asked = await askSlowly(stand, '/a/v1/events', PARQUET, 'HEAD');
      await asked.takeRest();
      return asked.status === 503;
    };
    await until(larger);
    const response = await stand.get('/a/v1/events', PARQUET);
    assert.equal(((await response.json()) as { code: string }).code, 'no-room');
    await until(async () => (await disk()) === 0);
  });
});
