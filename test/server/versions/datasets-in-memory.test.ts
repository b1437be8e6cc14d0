/** Which of the datasets in service are in memory. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Datasets, DatasetsOptions } from '../../../src/server/versions/datasets.ts';
import { until } from '../stand.ts';
import { serveVersions } from './version-store.ts';

describe('datasets in service', () => {
  const opened: Datasets[] = [];
  afterEach(async () => {
    for (const datasets of opened.splice(0)) await datasets.close();
  });

  function serve(versions: Record<string, string>, options: DatasetsOptions = {}) {
    const served = serveVersions(versions, options);
    opened.push(served.datasets);
    return served;
  }

  it('leave memory for another one if they have not been used for a while, the least recently used first', async () => {
    const { store, datasets } = serve({ a: 'a1', b: 'b1', c: 'c1', d: 'd1' }, { idleMs: 0 });
    store.room = 2;
    for (const name of ['a', 'b', 'a']) (await datasets.lease(name)).end();
    const lease = await datasets.lease('c');
    // No request waits until there is room.
    assert.equal(lease.dataset.timeline, undefined);
    lease.end();
    await until(() => store.inMemory.has('c1'));
    assert.deepEqual([...store.inMemory], ['a1', 'c1']);
    assert.deepEqual(store.prepared, ['b1']);
    const held = await datasets.lease('a');
    for (const name of ['c', 'd']) (await datasets.lease(name)).end();
    await until(() => store.inMemory.has('d1'));
    // Less recently used than the one that has left, but still in use.
    assert.deepEqual([...store.inMemory], ['a1', 'd1']);
    held.end();
  });

  it('stay in memory for a minute after their last use, and if all of them would not be enough', async () => {
    const { store, datasets } = serve({ a: 'a1', b: 'b1' });
    store.room = 1;
    for (const name of ['a', 'b']) (await datasets.lease(name)).end();
    await setImmediate();
    assert.deepEqual([...store.inMemory], ['a1']);
    const other = serve({ a: 'a1', b: 'b1' }, { idleMs: 0 });
    other.store.room = 1;
    other.store.missingBytes = () => 2;
    for (const name of ['a', 'b']) (await other.datasets.lease(name)).end();
    await setImmediate();
    assert.deepEqual([...other.store.inMemory], ['a1']);
  });

  it('that are read from disk go into memory when there is room', async () => {
    const { store, datasets } = serve({ a: 'a1' });
    store.room = 0;
    const first = await datasets.lease('a');
    first.end();
    assert.equal(first.dataset.timeline, undefined);
    store.room = 1;
    await until(async () => {
      const lease = await datasets.lease('a');
      lease.end();
      return lease.dataset.timeline !== undefined;
    });
    await until(() => store.open.length === 1);
    assert.equal(store.openings, 2);
  });

  it('that go into memory do not replace a version that was published meanwhile', async () => {
    const { store, datasets, next } = serve({ a: 'a1' }, { pollMs: 1 });
    store.room = 0;
    (await datasets.lease('a')).end();
    const { promise, resolve } = Promise.withResolvers<void>();
    store.waits.set('a', promise);
    store.room = 1;
    await until(async () => {
      (await datasets.lease('a')).end();
      return store.asksToOpen === 2;
    });
    store.waits.delete('a');
    const opened = next('dataset-opened');
    store.versions.set('a', 'a2');
    await opened;
    const lease = await datasets.lease('a');
    lease.end();
    resolve();
    await until(() => store.openings === 3 && store.open.length === 1);
    const last = await datasets.lease('a');
    last.end();
    assert.equal(last.dataset, lease.dataset);
  });
});
