/**
 * Sync behind a load balancer, whose servers switch to a version at different times (decision 19).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startServer } from '../../src/server/start.ts';
import type { Store } from '../../src/store/store.ts';
import { get } from '../model/client.ts';
import { SyncedTable } from '../properties/synced-table.ts';
import { openStand } from './stand.ts';

/** Wraps a store. After `freeze(version)`, it reports this version as the current one. */
function lagging() {
  let frozen: string | undefined;
  return {
    freeze: (version: string | undefined) => {
      frozen = version;
    },
    around: (store: Store): Store => {
      const behind: Partial<Store> = {
        currentVersion: async (name) => frozen ?? (await store.currentVersion(name)),
        openDataset: (name) => store.openDataset(name),
        organization: (name) => store.organization(name),
        countPublished: () => store.countPublished(),
      };
      return behind as Store;
    },
  };
}

const VISIT = { type: 'board', action: 'visited', ownerId: 5n, boardId: 7n };

test('a sync that continues at a server with an older version loses nothing and restores no forgotten user', {
  timeout: 180_000,
}, async (t) => {
  const { freeze, around } = lagging();
  const stand = await openStand({ around });
  t.after(() => stand.close());
  await stand.publish({
    events: [1, 2, 3].map((ms) => ({ ...VISIT, actorId: 3n, timestampMs: 5_000 + ms })),
  });
  while (!(await (await stand.get('/a/v1/events')).text()).includes('T00:00:05.003')) await delay(20);
  freeze(await stand.store.currentVersion('harbor'));
  await stand.publish({
    events: Array.from({ length: 10 }, (_, ms) => ({ ...VISIT, actorId: 1n, timestampMs: 1_000 + ms })),
  });
  const gone = { email: 'user-3@forgotten.invalid', name: 'Forgotten', forgotten: true as const };
  await stand.publish({ users: [{ id: 3n, ...gone }] });
  const newer = await startServer({
    ...{ store: stand.store, keyring: stand.keyring, host: '127.0.0.1', port: 0 },
    ...{ defaultVariant: 'a', logLevel: 'silent' },
  });
  t.after(() => newer.stop());
  const lines = { accept: 'application/x-ndjson' };
  const fresh = async () => (await get(`${newer.address}/a/v1/events`, stand.key, lines)).text;
  assert.ok(
    (await get(`${stand.url}/a/v1/events`, stand.key)).text.includes('"id":3,'),
    'one server is behind',
  );
  const inTurn = (page: number) => (page % 2 === 0 ? newer.address : stand.url);
  const behindAfterFirst = (page: number) => (page === 0 ? newer.address : stand.url);
  // With ten, the older server ends the sync on its first page.
  for (const limit of [1, 2, 3, 10]) {
    for (const [chosen, tokenFrom] of [
      [inTurn, 'header'],
      [behindAfterFirst, 'header'],
      [inTurn, 'record'],
      [behindAfterFirst, 'record'],
    ] as const) {
      let pages = 0;
      let choose = chosen;
      const table = new SyncedTable(
        (target) => get(choose(pages++) + target, stand.key, lines),
        '/a/v1/events',
        { limit, tokenFrom },
      );
      await table.catchUp();
      // The older server has caught up.
      choose = () => newer.address;
      await table.catchUp();
      const expected = (await fresh()).split('\n').slice(0, -1).toSorted();
      assert.deepEqual(table.rows(), expected, `pages of ${limit}`);
    }
  }
});
