/** The memory of a version is free once it is replaced, whatever was asked of it. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Dataset } from '../../src/dataset/dataset.ts';
import type { Store } from '../../src/store/store.ts';
import { collectGarbage } from '../../src/system/memory-reclaimer.ts';
import { openStand } from './stand.ts';

const PATHS = [
  ...['/a/v1/events', '/a/v1/events?limit=1', '/a/v1/events/board/7', '/a/v1/boards', '/a/v1/users'],
  ...['/a/v1/board/7/points', '/a/v1/board/7/points?end=2030-01-01T00:00:00Z', '/b/v1/events'],
  ...['/insights/v1/overview', '/insights/v1/activity?interval=day&by=role', '/insights/v1/users?top=3'],
];
const FORMS = ['application/json', 'application/x-ndjson', 'text/csv', 'application/vnd.apache.parquet'];
/** Only a version that is never free takes as long. */
const PATIENCE_MS = 60_000;

it('a version that is replaced is not kept in memory by what was asked of it', async (t) => {
  const opened: WeakRef<Dataset>[] = [];
  const stand = await openStand({
    kind: { store: 'DuckDB', resident: true },
    around: (store) => noteOpened(store, opened),
  });
  t.after(() => stand.close());
  const tag = async () => (await stand.get('/a/v1/events', {}, 'HEAD')).headers.get('etag');
  let responses = 0;
  for (const path of PATHS) {
    for (const accept of FORMS) {
      const response = await stand.get(path, { accept });
      await response.arrayBuffer();
      if (response.ok) responses += 1;
    }
  }
  assert.ok(responses > 2 * PATHS.length, `only ${responses} responses`);
  const before = await tag();
  assert.ok(opened[0]?.deref()?.timeline, 'the version is in memory');
  await stand.publish({ users: [{ id: 901n, email: 'later@example.org', name: 'Later' }] });
  await until(async () => (await tag()) !== before);
  await until(() => {
    collectGarbage();
    return Promise.resolve(opened[0]?.deref() === undefined);
  });
  assert.equal(opened.length, 2);
});

/** The same store, with references to the datasets that it opens. */
function noteOpened(store: Store, opened: WeakRef<Dataset>[]): Store {
  const openDataset = async (name: string) => {
    const dataset = await store.openDataset(name);
    if (dataset !== undefined) opened.push(new WeakRef(dataset));
    return dataset;
  };
  return new Proxy(store, {
    get(of, name) {
      if (name === 'openDataset') return openDataset;
      const value: unknown = Reflect.get(of, name);
      return typeof value === 'function' ? value.bind(of) : value;
    },
  });
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    assert.ok(performance.now() < endMs, `not within ${PATIENCE_MS} ms`);
    await delay(50);
  }
}
