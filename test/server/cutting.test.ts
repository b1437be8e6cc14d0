/** Responses that are cut off because they must not continue (decision 60), over real sockets. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { publishRecords, type Records } from '../dataset/small-world.ts';
import { describeOver, READINGS } from '../storage.ts';
import { askSlowly, metric, type SlowClient } from './slow-client.ts';
import { largeRecords, openStand, type Stand, until } from './stand.ts';

const STREAM = { accept: 'text/event-stream' };

function idOf(key: string): string {
  return key.split('_')[1] ?? '';
}

function lengthOf({ headers }: SlowClient): number {
  return Number(/\r\ncontent-length: (\d+)/i.exec(headers)?.[1]);
}

/** Resolves when the log has `times` responses that were cut off for this reason. */
async function untilCut({ log }: Stand, reason: string, times = 1): Promise<void> {
  await until(() => log.filter((line) => line['cut_for'] === reason).length >= times);
}

async function assertCut(client: SlowClient): Promise<void> {
  const body = await client.takeRest();
  assert.ok(body.length < lengthOf(client), `${body.length} of ${lengthOf(client)} bytes came`);
}

async function assertWhole(client: SlowClient): Promise<void> {
  const body = await client.takeRest();
  assert.equal(body.length, lengthOf(client));
}

/** Resolves when the version with these records is in service. */
async function publish(stand: Stand, records: Records): Promise<void> {
  const tag = async () => (await stand.get('/a/v1/boards')).headers.get('etag');
  const before = await tag();
  await stand.publish(records);
  await until(async () => (await tag()) !== before);
}

describeOver(READINGS, 'an export in flight', { timeout: 180_000 }, (kind) => {
  let stand: Stand;
  before(async () => {
    stand = await openStand({ kind, records: largeRecords(), stalledMs: 60_000 });
  });
  after(() => stand.close());

  it('is cut off when its key is revoked, as are its live streams, but not those of other keys', async () => {
    const key = await stand.makeKey();
    const [own, csv, other, idle, telling] = await Promise.all([
      askSlowly(stand, '/a/v1/events', { apikey: key }),
      askSlowly(stand, '/a/v1/events', { apikey: key, accept: 'text/csv' }),
      askSlowly(stand, '/a/v1/events'),
      askSlowly(stand, '/a/v1/events', { apikey: key, ...STREAM }),
      askSlowly(stand, '/a/v1/events?since=start', { apikey: key, ...STREAM }),
    ]);
    await stand.keyring.revoke(idOf(key));
    await untilCut(stand, 'key-ended', 4);
    await assertCut(own);
    await assertCut(csv);
    const told = (await telling.takeRest()).toString();
    assert.ok(!told.includes('event: synced') && !told.endsWith('0\r\n\r\n'));
    // Everything had been sent, so it ends regularly.
    assert.ok((await idle.takeRest()).toString().endsWith('0\r\n\r\n'));
    await assertWhole(other);
    assert.ok((await metric(stand, 'corkboard_cut_responses_total{reason="key-ended"}')) >= 4);
    await until(async () => (await metric(stand, 'corkboard_in_use{limit="responses"}')) === 0);
  });

  it('is cut off when its key expires', async () => {
    const key = await stand.makeKey({}, Date.now() + 2_000);
    const client = await askSlowly(stand, '/a/v1/events', { apikey: key });
    assert.equal(client.status, 200);
    await untilCut(stand, 'key-ended', 5);
    await assertCut(client);
  });

  it('continues through publications, and is cut off when a user of its version is forgotten', async () => {
    await stand.store.createOrganization(`lake-${kind.resident}`, {});
    await publishRecords(stand.store, `lake-${kind.resident}`, largeRecords());
    const otherKey = await stand.makeKey({ organization: `lake-${kind.resident}` });
    const going = await askSlowly(stand, '/a/v1/events');
    const other = await askSlowly(stand, '/a/v1/events', { apikey: otherKey });
    await publish(stand, { boards: [{ id: 7n, title: 'Renamed' }] });
    await assertWhole(going);
    const first = await askSlowly(stand, '/a/v1/events');
    await publish(stand, { boards: [{ id: 7n, title: 'Renamed again' }] });
    const second = await askSlowly(stand, '/a/v1/events');
    const forgotten = {
      id: 3n,
      email: 'user-3@forgotten.invalid',
      name: 'Forgotten',
      forgotten: true,
    } as const;
    await publish(stand, { users: [forgotten] });
    const third = await askSlowly(stand, '/a/v1/events');
    await untilCut(stand, 'person-forgotten', 2);
    await assertCut(first);
    await assertCut(second);
    await assertWhole(third);
    await assertWhole(other);
    await until(async () => (await metric(stand, 'corkboard_in_use{limit="replaced-versions"}')) === 0);
  });
});

describe('a client that reads very slowly', { timeout: 180_000 }, () => {
  it('is cut off below the least rate', async (t) => {
    const stand = await openStand({
      records: largeRecords(),
      limits: { 'least-rate': 2e6, 'least-rate-after': 100 },
    });
    t.after(() => stand.close());
    const client = await askSlowly(stand, '/a/v1/events');
    await untilCut(stand, 'least-rate');
    await assertCut(client);
    await until(async () => (await metric(stand, 'corkboard_in_use{limit="responses"}')) === 0);
  });

  it('is cut off if it reads nothing, but not while it waits for its response', async (t) => {
    const gate = Promise.withResolvers<void>();
    const stand = await openStand({
      records: largeRecords(),
      limits: { 'stalled-after': 500 },
      around: (store) =>
        new Proxy(store, {
          get(target, name) {
            if (name !== 'organization') {
              const value: unknown = Reflect.get(target, name);
              return typeof value === 'function' ? value.bind(target) : value;
            }
            return async (organization: string) => {
              if (organization === 'lake') await gate.promise;
              return await target.organization(organization);
            };
          },
        }),
    });
    t.after(() => stand.close());
    await stand.store.createOrganization('lake', {});
    await publishRecords(stand.store, 'lake', { boards: [{ id: 1n, title: 'One' }] });
    // This organization is in service before the other one is held up.
    await stand.get('/a/v1/boards');
    const waiting = stand.get('/a/v1/boards', { apikey: await stand.makeKey({ organization: 'lake' }) });
    const stalled = await askSlowly(stand, '/a/v1/events');
    await until(() => stand.log.some((line) => line['cut'] === true));
    await assertCut(stalled);
    gate.resolve();
    assert.equal((await waiting).status, 200);
  });
});

describe('a replaced version', { timeout: 180_000 }, () => {
  it('can be read for a limited time', async (t) => {
    const stand = await openStand({ records: largeRecords(), limits: { 'replaced-age': 10 } });
    t.after(() => stand.close());
    const client = await askSlowly(stand, '/a/v1/events');
    await publish(stand, { boards: [{ id: 7n, title: 'Renamed' }] });
    await untilCut(stand, 'replaced-age');
    await assertCut(client);
    await until(async () => (await metric(stand, 'corkboard_datasets_open')) === 1);
  });

  it('is closed when there are too many, the oldest first', async (t) => {
    const limits = { 'replaced-versions-per-organization': 1 };
    const stand = await openStand({ records: largeRecords(), limits });
    t.after(() => stand.close());
    const first = await askSlowly(stand, '/a/v1/events');
    await publish(stand, { boards: [{ id: 7n, title: 'Renamed' }] });
    const second = await askSlowly(stand, '/a/v1/events');
    await publish(stand, { boards: [{ id: 7n, title: 'Renamed again' }] });
    await untilCut(stand, 'replaced-versions-per-organization');
    await assertCut(first);
    await assertWhole(second);
  });
});
