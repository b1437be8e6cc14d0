/**
 * The datasets in service, over a store that holds only the current version of each organization.
 */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { AppError } from '../../../src/domain/app-error.ts';
import { resolveLimits } from '../../../src/server/limits/limits.ts';
import type { Datasets, DatasetsOptions } from '../../../src/server/versions/datasets.ts';
import { Impaired } from '../../../src/server/versions/impaired.ts';
import { until } from '../stand.ts';
import { serveVersions, VersionedDataset, type VersionStore } from './version-store.ts';

const mostOpen = (count: number) => resolveLimits({ 'open-organizations': count });
const REDACT = { email: false, name: false, id: false };

describe('datasets in service', () => {
  let datasets: Datasets | undefined;
  afterEach(() => datasets?.close());

  function serve(versions: Record<string, string>, options: DatasetsOptions = {}) {
    const served = serveVersions(versions, options);
    datasets = served.datasets;
    return served;
  }

  /** A clock that is moved by hand, and a record of impaired organizations. */
  function watched() {
    const clock = { ms: 0 };
    return { clock, options: { impaired: new Impaired(), now: () => clock.ms, pollMs: 1 } };
  }

  /** Resolves once everything in service has been polled. */
  async function polled(store: VersionStore): Promise<void> {
    const before = store.asked;
    await until(() => store.asked > before + store.open.length);
  }

  async function versionOf(served: Datasets, organization: string): Promise<string> {
    const lease = await served.lease(organization);
    lease.end();
    return lease.dataset.version;
  }

  it('are open up to their limit; a further one closes the least recently used one, which opens again on demand', async () => {
    const { store, datasets } = serve({ a: 'a1', b: 'b1', c: 'c1' }, { limits: mostOpen(2) });
    for (const name of ['a', 'b', 'a', 'c']) (await datasets.lease(name)).end();
    assert.deepEqual(store.open.toSorted(), ['a1', 'c1']);
    (await datasets.lease('b')).end();
    assert.deepEqual(store.open.toSorted(), ['b1', 'c1']);
  });

  it('have the secret of the copy that replaced an organization without data', async () => {
    const { store, datasets, next } = serve({}, { pollMs: 1 });
    store.versions.set('a', undefined);
    const empty = await datasets.lease('a');
    empty.end();
    assert.deepEqual(empty.dataset.counts, { events: 0, users: 0, boards: 0, pins: 0 });
    store.secret = new Uint8Array(32).fill(1);
    const opened = next('dataset-opened');
    store.versions.set('a', 'a1');
    await opened;
    const lease = await datasets.lease('a');
    lease.end();
    assert.deepEqual(lease.secrets.pseudonym, store.secret);
  });

  it('stay open while a response uses them, even if others need the space', async () => {
    const { store, datasets, next } = serve({ a: 'a1', b: 'b1' }, { limits: mostOpen(1) });
    const held = await datasets.lease('a');
    (await datasets.lease('b')).end();
    assert.deepEqual(store.open.toSorted(), ['a1', 'b1']);
    const closed = next('dataset-closed');
    held.end();
    await closed;
    assert.deepEqual(store.open, ['b1']);
  });

  it('are replaced when a version is published, also while a different organization takes long', async () => {
    const { store, datasets, next } = serve({ slow: 's1', quick: 'q1' });
    for (const name of ['slow', 'quick']) (await datasets.lease(name)).end();
    const { promise, resolve } = Promise.withResolvers<void>();
    store.waits.set('slow', promise);
    store.versions.set('slow', 's2');
    store.versions.set('quick', 'q2');
    await next('dataset-opened');
    assert.ok(store.open.includes('q2'));
    const opened = next('dataset-opened');
    resolve();
    await opened;
    assert.ok(store.open.includes('s2'));
  });

  it('are replaced without polling when the store reports a version, while they are in service', async () => {
    const { store, datasets, next } = serve({ a: 'a1', b: 'b1' }, { pollMs: 1e9 });
    for (const name of ['a', 'b']) (await datasets.lease(name)).end();
    store.versions.set('a', 'a2');
    store.versions.set('b', 'b2');
    const opened = next('dataset-opened');
    for (const tell of store.watching) tell('A');
    await opened;
    assert.deepEqual(store.open.toSorted(), ['a2', 'b1']);
    await datasets.close();
    assert.equal(store.watching.size, 0);
  });

  for (const inForce of ['a1', 'a2']) {
    it(`are opened once for a version, though an answer from when ${inForce} was in force comes late`, async () => {
      const { store, datasets, next } = serve({ a: 'a1' }, { pollMs: 1e9 });
      (await datasets.lease('a')).end();
      const { promise, resolve } = Promise.withResolvers<void>();
      store.lateAnswers.push(promise);
      const opened = next('dataset-opened');
      for (const version of [inForce, 'a2']) {
        store.versions.set('a', version);
        for (const tell of store.watching) tell('a');
        await setImmediate();
      }
      await opened;
      resolve();
      await datasets.close();
      assert.equal(store.openings, 2);
      assert.deepEqual(store.open, []);
    });
  }

  it('are closed once, also when their space is needed while the next version is prepared', async () => {
    const { store, datasets, next } = serve({ a: 'a1', b: 'b1' }, { limits: mostOpen(1) });
    const held = await datasets.lease('a');
    await held
      .rendering(REDACT)
      .list('users', { scope: { boards: 'all', users: 'all' }, range: {} }, 'a', 'csv');
    const { promise, resolve } = Promise.withResolvers<void>();
    store.waits.set('a2', promise);
    store.versions.set('a', 'a2');
    await until(() => store.open.includes('a2'));
    const openedB = next('dataset-opened');
    (await datasets.lease('b')).end();
    await openedB;
    assert.deepEqual(store.open.toSorted(), ['a1', 'a2', 'b1']);
    const closed = next('dataset-closed');
    resolve();
    await closed;
    assert.deepEqual(store.open.toSorted(), ['a1', 'b1']);
    held.end();
    await datasets.close();
    assert.deepEqual(store.open, []);
  });

  it('prepare for a new version what the previous one used, before it comes into service', async () => {
    const { store, datasets, next } = serve({ a: 'a1' });
    const before = await datasets.lease('a');
    await before
      .rendering(REDACT)
      .list('users', { scope: { boards: 'all', users: 'all' }, range: {} }, 'a', 'csv');
    before.end();
    store.versions.set('a', 'a2');
    await next('dataset-opened');
    const { dataset, end } = await datasets.lease('a');
    end();
    assert.ok(dataset instanceof VersionedDataset);
    assert.equal(dataset.version, 'a2');
    assert.equal(dataset.readings.people, 2);
  });

  it('that cannot be opened are refused during a pause, and reported once', async () => {
    const { clock, options } = watched();
    const { store, datasets, next, told } = serve({ a: 'a1', b: 'b1' }, options);
    store.damaged.add('a1');
    for (const _ of [1, 2, 3]) await assert.rejects(datasets.lease('a'), { code: 'data-unreadable' });
    assert.equal(store.openings, 1);
    assert.equal(await versionOf(datasets, 'b'), 'b1');
    const failedAgain = next('version-unreadable');
    clock.ms += 5_000;
    await failedAgain;
    await assert.rejects(datasets.lease('a'), { code: 'data-unreadable' });
    // Two of a1, and one of b1.
    assert.equal(store.openings, 3);
    const failures = told.filter(({ type }) => type === 'version-unreadable');
    assert.deepEqual(
      failures.map((one) => one.type === 'version-unreadable' && [one.version, one.impairment, one.isNew]),
      [
        ['a1', 'unavailable', true],
        ['a1', 'unavailable', false],
      ],
    );
    assert.deepEqual(options.impaired.counts(), { unavailable: 1, earlier: 0, partial: 0 });
  });

  it('that cannot be opened come into service without a request once they can be opened', async () => {
    const { clock, options } = watched();
    const { store, datasets } = serve({ a: 'a1' }, options);
    store.damaged.add('a1');
    await assert.rejects(datasets.lease('a'), { code: 'data-unreadable' });
    store.damaged.clear();
    clock.ms += 5_000;
    await until(() => options.impaired.get('a') === undefined);
    assert.deepEqual(store.open, ['a1']);
    assert.equal(await versionOf(datasets, 'a'), 'a1');
  });

  it('that cannot be opened leave the previous version in service, which is opened if necessary', async () => {
    const { options } = watched();
    const { store, datasets, told } = serve({ a: 'a2', b: 'b1' }, { ...options, limits: mostOpen(1) });
    store.earlier.set('a', 'a1');
    store.damaged.add('a2');
    assert.equal(await versionOf(datasets, 'a'), 'a1');
    assert.deepEqual(options.impaired.counts(), { unavailable: 0, earlier: 1, partial: 0 });
    assert.equal(await versionOf(datasets, 'b'), 'b1');
    assert.equal(await versionOf(datasets, 'a'), 'a1');
    assert.equal(told.filter(({ type }) => type === 'version-unreadable').length, 1);
  });

  it('that cannot be opened are replaced by the next version at once', async () => {
    const { options } = watched();
    const { store, datasets } = serve({ a: 'a2' }, options);
    store.earlier.set('a', 'a1');
    store.damaged.add('a2');
    assert.equal(await versionOf(datasets, 'a'), 'a1');
    store.versions.set('a', 'a3');
    await until(() => options.impaired.get('a') === undefined);
    assert.equal(await versionOf(datasets, 'a'), 'a3');
  });

  it('are recorded as damaged when a request finds the damage, until the next version', async () => {
    const { options } = watched();
    const { store, datasets, told } = serve({ a: 'a1' }, options);
    const lease = await datasets.lease('a');
    lease.failed(new Error('a bug'));
    assert.equal(options.impaired.get('a'), undefined);
    const damage = new AppError('data-unreadable', 'The file is damaged.');
    for (const _ of [1, 2]) lease.failed(damage);
    lease.end();
    assert.equal(options.impaired.get('a'), 'partial');
    assert.equal(told.filter(({ type }) => type === 'version-unreadable').length, 1);
    store.versions.set('a', 'a2');
    await until(() => options.impaired.get('a') === undefined);
    assert.equal(await versionOf(datasets, 'a'), 'a2');
  });

  it('stay in memory when their organization is renamed, also for requests with the former name', async () => {
    const { options } = watched();
    const { store, datasets, told } = serve({ a: 'a1', c: 'c1' }, options);
    const lease = await datasets.lease('a');
    lease.end();
    Object.assign(lease.dataset, { timeline: {} });
    store.versions.delete('a');
    store.versions.set('b', 'a1');
    await polled(store);
    assert.equal(await versionOf(datasets, 'a'), 'a1');
    assert.equal(await versionOf(datasets, 'b'), 'a1');
    assert.equal(await versionOf(datasets, 'c'), 'c1', 'it has the same secret, and a different name');
    await assert.rejects(datasets.lease('a'), { code: 'not-published' });
    assert.deepEqual(store.open, ['a1', 'c1']);
    store.versions.set('b', 'b2');
    await until(() => store.open.includes('b2'));
    const types = new Set(told.map(({ type }) => type));
    assert.ok(!types.has('dataset-failed') && !types.has('version-unreadable'));
  });

  it('are opened again when their organization is renamed, if they are read from their files', async () => {
    const { store, datasets } = serve({ a: 'a1' }, { pollMs: 1 });
    assert.equal(await versionOf(datasets, 'a'), 'a1');
    store.versions.delete('a');
    store.versions.set('b', 'a1');
    assert.equal(await versionOf(datasets, 'b'), 'a1');
    await until(() => store.open.length === 1);
    assert.equal(store.openings, 2);
  });

  it('are closed some seconds after their organization was removed, which is no failure', async () => {
    const { clock, options } = watched();
    const { store, datasets, told } = serve({ a: 'a1' }, options);
    assert.equal(await versionOf(datasets, 'a'), 'a1');
    store.versions.delete('a');
    await polled(store);
    assert.deepEqual(store.open, ['a1']);
    clock.ms += 5_000;
    await until(() => store.open.length === 0);
    assert.deepEqual(
      told.map(({ type }) => type),
      ['dataset-opened', 'dataset-closed'],
    );
    await assert.rejects(datasets.lease('a'), { code: 'not-published' });
  });

  it('of a removed organization are not those of a new one with its name', async () => {
    const { options } = watched();
    const { store, datasets } = serve({ a: 'a1' }, options);
    assert.equal(await versionOf(datasets, 'a'), 'a1');
    store.versions.delete('a');
    await polled(store);
    store.secret = new Uint8Array(32).fill(1);
    store.versions.set('a', undefined);
    const lease = await datasets.lease('a');
    lease.end();
    assert.deepEqual(lease.secrets.pseudonym, store.secret);
    assert.deepEqual(lease.dataset.counts, { events: 0, users: 0, boards: 0, pins: 0 });
  });

  it('are empty when an organization has lost its data', async () => {
    const { options } = watched();
    const { store, datasets } = serve({ a: 'a1' }, options);
    assert.equal(await versionOf(datasets, 'a'), 'a1');
    store.versions.set('a', undefined);
    await until(() => store.open.length === 0);
    assert.match(await versionOf(datasets, 'a'), /^none of a /);
  });

  it('of an unknown organization are treated as unpublished', async () => {
    const { datasets } = serve({});
    await assert.rejects(datasets.lease('gone'), { code: 'not-published' });
  });
});
