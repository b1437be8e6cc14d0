/** The store in PostgreSQL against the contract of stores, and what is its own: pruning, organizations, connections. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { Database } from '../../src/dataset/postgres/database.ts';
import { migrate } from '../../src/dataset/postgres/migrate.ts';
import { openPostgresStore } from '../../src/dataset/postgres/store.ts';
import { FULL_SCOPE } from '../../src/dataset/scope.ts';
import type { Store } from '../../src/dataset/store.ts';
import { sharedPostgres } from '../postgres/throwaway.ts';
import { describePublication } from './publication-contract.ts';
import { eventsInWords, openPublished, publishRecords, WORLD } from './small-world.ts';
import { code, describeStore } from './store-contract.ts';

async function newDatabase(): Promise<string> {
  const url = await (await sharedPostgres()).newDatabase();
  const database = new Database(url);
  await migrate(database);
  await database.close();
  return url;
}

describeStore('PostgreSQL', async () => await openPostgresStore(await newDatabase()));
describePublication('PostgreSQL', async () => await openPostgresStore(await newDatabase()));

const YEAR = { 2013: Date.UTC(2013, 5) };
const FOLLOW = { type: 'board', action: 'followed', ownerId: 1n, actorId: 1n, boardId: 7n };
const at = (...timestamps: number[]) => ({
  events: timestamps.map((timestampMs) => ({ ...FOLLOW, timestampMs })),
});

interface Bench {
  readonly database: Database;
  readonly store: Store;
}

describe('the tables of the store in PostgreSQL', () => {
  const open: Bench[] = [];
  after(async () => {
    for (const { database, store } of open) {
      await store.close();
      await database.close();
    }
  });
  const newBench = async (...organizations: string[]): Promise<Bench> => {
    const url = await newDatabase();
    const bench = { database: new Database(url), store: await openPostgresStore(url) };
    open.push(bench);
    for (const organization of organizations) {
      await bench.store.createOrganization(organization, {});
      await publishRecords(bench.store, organization, WORLD);
    }
    return bench;
  };
  const timestamps = async (store: Store, organization: string) => {
    const dataset = await openPublished(store, organization);
    const words = await eventsInWords(dataset, { scope: FULL_SCOPE });
    await dataset.close();
    return words.map((line) => Number(line.split(' ').at(-1)));
  };

  it('keep the last versions, those of the last hour, and what they need', async () => {
    const bench = await newBench('acme');
    const { database, store } = bench;
    const rename = (name: string) =>
      publishRecords(store, 'acme', { users: [{ id: 1n, name, email: 'ann@x.example' }] });
    const versions = async () =>
      (await database.rows('SELECT publication FROM corkboard.versions ORDER BY 1')).map(
        ([number]) => number,
      );
    const names = async () => {
      const rows = await database.rows('SELECT name FROM corkboard.users WHERE id = 1 ORDER BY born');
      return rows.map(([name]) => name);
    };
    const age = () => database.rows('UPDATE corkboard.versions SET published_ms = published_ms - 7200000');
    for (const name of ['Two', 'Three', 'Four', 'Five']) await rename(name);
    assert.deepEqual(await versions(), [1, 2, 3, 4, 5]);
    await age();
    await rename('Six');
    assert.deepEqual(await versions(), [3, 4, 5, 6]);
    assert.deepEqual(await names(), ['Three', 'Four', 'Five', 'Six']);
    await rename('Seven');
    assert.deepEqual(await versions(), [4, 5, 6, 7]);
    await rename('Eight');
    await rename('Nine');
    assert.deepEqual(await versions(), [5, 6, 7, 8, 9]);
    await age();
    await publishRecords(store, 'acme', {}, { title: 'Ten' });
    assert.deepEqual(await versions(), [7, 8, 9, 10]);
    assert.deepEqual(await names(), ['Seven', 'Eight', 'Nine']);
    const dataset = await openPublished(store, 'acme');
    assert.equal(dataset.counts.users, 5);
    assert.equal((await eventsInWords(dataset)).length, 5);
    await dataset.close();
  });

  it('tell what is new since a version that was in force half an hour ago, and not since another one', async () => {
    const { database, store } = await newBench('acme', 'other');
    const first = await openPublished(store, 'acme');
    await publishRecords(store, 'acme', at(YEAR[2013]));
    const second = await openPublished(store, 'acme');
    const age = (ms: number) =>
      database.rows(`UPDATE corkboard.versions SET published_ms = published_ms - ${ms}`);
    await age(1_500_000);
    assert.deepEqual([...((await second.since?.(first))?.events.timestampMs ?? [])], [YEAR[2013]]);
    assert.equal(await first.since?.(second), undefined);
    assert.equal(await second.since?.(await openPublished(store, 'other')), undefined);
    await age(300_000);
    assert.equal(await second.since?.(first), undefined);
    assert.equal((await second.since?.(second))?.events.count, 0);
  });

  it('hold organizations that publish side by side apart', async () => {
    const bench = await newBench('one', 'two', 'three');
    const names = ['one', 'two', 'three'];
    const outcomes = await Promise.all(
      names.map((name, place) => publishRecords(bench.store, name, at(...Array(place + 1).fill(YEAR[2013])))),
    );
    assert.equal(new Set(outcomes.map(({ version }) => version)).size, 3);
    for (const [place, name] of names.entries()) {
      assert.equal((await timestamps(bench.store, name)).length, 6 + place);
    }
  });

  it('show nothing of a publication whose connection breaks, which can be done again', async () => {
    const bench = await newBench('acme');
    const version = await bench.store.currentVersion('acme');
    const publication = await bench.store.beginPublication('acme', { waitMs: 0 });
    await publication.stage('events', [{ file: 0, line: 1, ...FOLLOW, timestampMs: YEAR[2013] }]);
    assert.equal((await publication.preview()).changes.events.added, 1);
    await bench.database.rows(
      `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
       WHERE datname = current_database() AND state = 'idle in transaction'`,
    );
    await assert.rejects(publication.publish(), code('database-away'));
    await publication.discard();
    assert.equal(await bench.store.currentVersion('acme'), version);
    assert.equal((await timestamps(bench.store, 'acme')).length, 5);
    await publishRecords(bench.store, 'acme', at(YEAR[2013]));
    assert.equal((await timestamps(bench.store, 'acme')).length, 6);
  });
});
