/** Partitions of events in PostgreSQL: who brings one, and that nobody has to wait for it. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { Database } from '../../src/dataset/postgres/database.ts';
import { migrate } from '../../src/dataset/postgres/migrate.ts';
import { openPostgresStore } from '../../src/dataset/postgres/store.ts';
import type { Publication, Store } from '../../src/dataset/store.ts';
import { sharedPostgres } from '../postgres/throwaway.ts';
import { eventsInWords, openPublished, publishRecords, WORLD } from './small-world.ts';

const YEAR = { 2013: Date.UTC(2013, 5), 2014: Date.UTC(2014, 5), 2015: Date.UTC(2015, 5) };
const FOLLOW = { type: 'board', action: 'followed', ownerId: 1n, actorId: 1n, boardId: 7n };
const at = (...timestamps: number[]) => ({
  events: timestamps.map((timestampMs) => ({ ...FOLLOW, timestampMs })),
});

interface Bench {
  readonly database: Database;
  readonly store: Store;
}

const open: Bench[] = [];

after(async () => {
  for (const { database, store } of open) {
    await store.close();
    await database.close();
  }
});

/** Each organization has the events of the small world, which are of about 1970. */
async function newBench(...organizations: string[]): Promise<Bench> {
  const url = await (await sharedPostgres()).newDatabase();
  const bench = { database: new Database(url), store: await openAfterMigration(url) };
  open.push(bench);
  for (const organization of organizations) {
    await bench.store.createOrganization(organization, {});
    await publishRecords(bench.store, organization, WORLD);
  }
  return bench;
}

async function openAfterMigration(url: string): Promise<Store> {
  const database = new Database(url);
  await migrate(database);
  await database.close();
  return await openPostgresStore(url);
}

async function lines({ database }: Bench, sql: string): Promise<string[]> {
  const rows = await database.rows(sql);
  return rows.map((row) => row.map(String).join(': ').replace('corkboard.', ''));
}

const partitions = (bench: Bench) =>
  lines(bench, 'SELECT tableoid::regclass::text, count(*) FROM corkboard.events GROUP BY 1 ORDER BY 1');

async function begin({ store }: Bench, organization: string, ...timestamps: number[]): Promise<Publication> {
  const publication = await store.beginPublication(organization, { waitMs: 0 });
  await publication.stage(
    'events',
    timestamps.map((timestampMs, row) => ({ file: 0, line: row + 1, ...FOLLOW, timestampMs })),
  );
  return publication;
}

async function countEvents({ store }: Bench, organization: string): Promise<number> {
  const dataset = await openPublished(store, organization);
  const events = await eventsInWords(dataset);
  await dataset.close();
  assert.equal(events.length, dataset.counts.events);
  return events.length;
}

describe('partitions of events', () => {
  it('are one for a year, and one each for what lies before and after', async () => {
    const bench = await newBench('acme');
    const unusual = [Date.UTC(1999, 11, 31), Date.UTC(2101, 0, 1)] as const;
    await publishRecords(bench.store, 'acme', at(YEAR[2014], YEAR[2013], ...unusual));
    await publishRecords(bench.store, 'acme', at(YEAR[2014] + 1, Date.UTC(2015, 0), Date.UTC(2015, 0) - 1));
    assert.deepEqual(await partitions(bench), [
      'events_2013: 1',
      'events_2014: 3',
      'events_2015: 1',
      'events_after_2100: 1',
      'events_before_2000: 6',
    ]);
    assert.equal(await countEvents(bench, 'acme'), 12);
  });

  it('have the indexes of all events, and nothing is left of how they came', async () => {
    const bench = await newBench('acme');
    await publishRecords(bench.store, 'acme', at(YEAR[2013], YEAR[2014]));
    const missing = await lines(
      bench,
      `SELECT partition.relname, parent.indexrelid::regclass FROM pg_class partition, pg_index parent
       WHERE partition.relname LIKE 'events\\_2%' AND partition.relkind = 'r'
         AND parent.indrelid = 'corkboard.events'::regclass AND NOT EXISTS (
           SELECT FROM pg_index i JOIN pg_inherits h ON h.inhrelid = i.indexrelid
           WHERE i.indrelid = partition.oid AND h.inhparent = parent.indexrelid AND i.indisvalid)`,
    );
    assert.deepEqual(missing, []);
    const left = `SELECT relname FROM pg_class WHERE relname LIKE 'events\\_coming%' AND relkind IN ('r', 'p')
      UNION ALL SELECT conname FROM pg_constraint WHERE contype = 'c' AND conrelid::regclass::text LIKE '%events%'`;
    assert.deepEqual(await lines(bench, left), []);
  });

  it('are filled once by two that bring the same year, of which none waits until the other has ended', async () => {
    const bench = await newBench('one', 'two');
    const first = await begin(bench, 'one', YEAR[2013], YEAR[2014]);
    assert.equal((await first.preview()).changes.events.added, 2);
    // The first one has filled its years by now, and its transaction is open.
    await publishRecords(bench.store, 'two', at(YEAR[2013], YEAR[2015]));
    assert.deepEqual(await partitions(bench), ['events_2013: 1', 'events_2015: 1', 'events_before_2000: 10']);
    await first.publish();
    assert.deepEqual(await partitions(bench), [
      'events_2013: 2',
      'events_2014: 1',
      'events_2015: 1',
      'events_before_2000: 10',
    ]);
    for (const name of ['one', 'two']) assert.equal(await countEvents(bench, name), 7);
  });

  it('come without a deadlock to two organizations that publish at once, twenty times', async () => {
    const bench = await newBench('one', 'two');
    const years = Array.from({ length: 20 }, (_, round) => 2020 + round);
    for (const [round, year] of years.entries()) {
      // Each brings a year of its own, one of both, and events of a year that is there.
      const both = [Date.UTC(year, 0), Date.UTC(2020, 1, 1, 0, 0, round)];
      await Promise.all([
        publishRecords(bench.store, 'one', at(...both, Date.UTC(year + 20, 0))),
        publishRecords(bench.store, 'two', at(...both, Date.UTC(year + 40, 0))),
      ]);
    }
    for (const name of ['one', 'two']) assert.equal(await countEvents(bench, name), 65);
    assert.equal((await partitions(bench)).length, 61);
  });

  it('come while others read all events, and will for long', async () => {
    const bench = await newBench('acme');
    const dataset = await openPublished(bench.store, 'acme');
    const reader = await bench.database.open();
    await reader.run('BEGIN; SELECT count(*) FROM corkboard.events;');
    assert.ok((await publishRecords(bench.store, 'acme', at(YEAR[2013]))).published);
    await reader.run('COMMIT');
    reader.close();
    assert.equal((await eventsInWords(dataset)).length, 5);
    await dataset.close();
    assert.equal(await countEvents(bench, 'acme'), 6);
  });

  it('are published as previewed', async () => {
    const bench = await newBench('acme');
    const publication = await begin(bench, 'acme', YEAR[2013]);
    await publication.stage('users', [{ file: 0, line: 1, id: 600n, email: 'new@x.example', name: 'New' }]);
    const { changes } = await publication.preview();
    const outcome = await publication.publish();
    assert.deepEqual(outcome.changes, changes);
    assert.deepEqual(outcome.counts, { events: 6, users: 6, boards: 3, pins: 1 });
    assert.deepEqual(await partitions(bench), ['events_2013: 1', 'events_before_2000: 5']);
  });

  it('are not there after a publication that was only previewed, and can come later', async () => {
    const bench = await newBench('acme');
    const publication = await begin(bench, 'acme', YEAR[2013]);
    await publication.preview();
    await publication.discard();
    assert.deepEqual(await partitions(bench), ['events_before_2000: 5']);
    await publishRecords(bench.store, 'acme', at(YEAR[2013]));
    assert.deepEqual(await partitions(bench), ['events_2013: 1', 'events_before_2000: 5']);
  });
});

describe('publications of different organizations', () => {
  it('go on side by side, into the same tables, while one is not committed', async () => {
    const bench = await newBench('one', 'two');
    await publishRecords(bench.store, 'one', at(YEAR[2013]));
    const first = await begin(bench, 'one', YEAR[2013] + 1);
    const second = await begin(bench, 'two', YEAR[2013] + 2);
    await first.preview();
    await second.preview();
    await second.publish();
    assert.equal(await countEvents(bench, 'two'), 6);
    assert.equal(await countEvents(bench, 'one'), 6);
    await first.publish();
    assert.equal(await countEvents(bench, 'one'), 7);
  });
});
