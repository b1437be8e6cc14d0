/** Reading from replicas: a real primary, and real replicas that stream from it. */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { Database } from '../../src/dataset/postgres/database.ts';
import { migrate } from '../../src/dataset/postgres/migrate.ts';
import { openPostgresStore } from '../../src/dataset/postgres/store.ts';
import { FULL_SCOPE } from '../../src/dataset/scope.ts';
import type { Store } from '../../src/dataset/store.ts';
import { openPostgresKeyring } from '../../src/keys/postgres-keyring.ts';
import { startServer } from '../../src/server/start.ts';
import { type Replica, startPostgres, type Throwaway } from '../postgres/throwaway.ts';
import { until } from '../server/stand.ts';
import { idsOf, openPublished, publishRecords, WORLD } from './small-world.ts';

const FIRST_BOARDS = ['7', '8', '9'];

let postgres: Throwaway;
let replicas: readonly [Replica, Replica];

before(async () => {
  postgres = await startPostgres();
  replicas = [await postgres.newReplica(), await postgres.newReplica()];
});

after(() => postgres.stop());

describe('a store that reads from replicas', () => {
  let url: string;
  let store: Store;
  let primary: Database;
  let open: (Store | Database)[];
  let unlock = () => {};

  beforeEach(async () => {
    url = await postgres.newDatabase();
    primary = new Database(url);
    await migrate(primary);
    store = await openPostgresStore(
      url,
      replicas.map((replica) => replica.address(url)),
    );
    await store.createOrganization('acme', {});
    await publishRecords(store, 'acme', WORLD);
    open = [store, primary];
    for (const database of replicas.map(at)) {
      // At first not even the database is there.
      await until(async () => (await number(database, 'SELECT count(*) FROM versions').catch(() => 0)) === 1);
    }
  });

  afterEach(async () => {
    unlock();
    unlock = () => {};
    await Promise.all(open.map((one) => one.close()));
  });

  const at = (replica: Replica) => {
    const database = new Database(replica.address(url));
    open.push(database);
    return database;
  };
  const number = async (database: Database, sql: string) => Number((await database.rows(sql))[0]?.[0]);
  /** Reads everything, as many times as there are servers. */
  const ids = async (dataset: Dataset) => (await idsOf(dataset.boards())).map(String).sort();
  const nextVersion = async () => {
    await publishRecords(store, 'acme', { boards: [{ id: 10n, title: 'Ten' }] });
  };
  const pause = async (paused: boolean) => {
    for (const replica of replicas) {
      await at(replica).rows(`SELECT pg_wal_replay_${paused ? 'pause' : 'resume'}()`);
    }
  };
  /** Connections of a store that have asked something about a version. */
  const readers = async (database: Database) =>
    await number(
      database,
      `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%boards ORDER BY ix%'
       AND query NOT LIKE '%pg_stat_activity%'`,
    );

  /** Asks until each replica has answered: one that was away, or not as far yet, is left out for a while. */
  const untilAsked = async (dataset: Dataset) => {
    const copies = replicas.map(at);
    await until(async () => {
      await ids(dataset);
      return (await Promise.all(copies.map(readers))).every((count) => count > 0);
    });
  };

  it('asks all of them in turn about a version, and the primary which it is', async () => {
    const dataset = await openPublished(store, 'acme');
    for (let times = 0; times < 4; times += 1) assert.deepEqual(await ids(dataset), FIRST_BOARDS);
    assert.deepEqual(await Promise.all([primary, ...replicas.map(at)].map(readers)), [0, 1, 1]);
  });

  it('reads a version from the primary that no replica has, and from them once they have it', async () => {
    await pause(true);
    await nextVersion();
    const started = performance.now();
    const dataset = await openPublished(store, 'acme');
    const opened = performance.now() - started;
    assert.ok(opened < 1_000, `it took ${opened} ms`);
    assert.deepEqual(await ids(dataset), ['10', ...FIRST_BOARDS]);
    assert.deepEqual(await Promise.all([primary, ...replicas.map(at)].map(readers)), [1, 0, 0]);
    await pause(false);
    await untilAsked(dataset);
    assert.deepEqual(await ids(dataset), ['10', ...FIRST_BOARDS]);
  });

  it('goes on with an open version on another replica, then the primary, and on replicas that are back', async () => {
    const dataset = await openPublished(store, 'acme');
    await replicas[0].kill();
    for (let times = 0; times < 4; times += 1) assert.deepEqual(await ids(dataset), FIRST_BOARDS);
    assert.equal(await readers(primary), 0);
    await replicas[1].kill();
    for (let times = 0; times < 4; times += 1) assert.deepEqual(await ids(dataset), FIRST_BOARDS);
    assert.equal(await readers(primary), 1);
    assert.deepEqual(await ids(await openPublished(store, 'acme')), FIRST_BOARDS);
    for (const replica of replicas) await replica.start();
    await untilAsked(dataset);
  });

  /** Each of a store of its own, since replicas that have cancelled something are not asked for a while. */
  const questions: Record<string, (dataset: Dataset) => Promise<unknown>> = {
    columns: ids,
    rows: async (dataset) => await dataset.findBoard(FULL_SCOPE, { by: 'id', value: 7n }),
  };
  for (const [name, ask] of Object.entries(questions)) {
    it(`asks elsewhere what a replica cancels before it has given anything: ${name}`, async () => {
      const dataset = await openPublished(store, 'acme');
      const expected = await ask(dataset);
      await untilAsked(dataset);
      const lock = await primary.open();
      unlock = () => lock.close();
      const copies = replicas.map(at);
      const waiting = `FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FROM boards%'`;
      const locks = `FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation = 'boards'::regclass`;
      await lock.run('BEGIN; LOCK TABLE boards');
      // With the next commit the replicas learn of it, and lock the table, too.
      await store.createOrganization(name, {});
      for (const copy of copies)
        await until(async () => (await number(copy, `SELECT count(*) ${locks}`)) > 0);
      const answer = ask(dataset);
      let cancelled = 0;
      await until(async () => {
        for (const copy of copies) {
          cancelled += (await copy.rows(`SELECT pg_cancel_backend(pid) ${waiting}`)).length;
        }
        return (await number(primary, `SELECT count(*) ${waiting}`)) > 0;
      });
      await lock.run('ROLLBACK');
      assert.deepEqual(await answer, expected);
      assert.ok(cancelled > 0);
    });
  }

  it('does not ask a replica that has another version in the place of this one', async () => {
    const elsewhere = await postgres.newDatabase();
    const other = new Database(elsewhere);
    open.push(other);
    await migrate(other);
    const strange = await openPostgresStore(elsewhere);
    open.push(strange);
    await strange.createOrganization('acme', {});
    await publishRecords(strange, 'acme', { boards: [{ id: 66n, title: 'Strange' }] });
    const misled = await openPostgresStore(url, [elsewhere]);
    open.push(misled);
    assert.deepEqual(await ids(await openPublished(misled, 'acme')), FIRST_BOARDS);
  });

  it('cuts an answer that breaks half way, and asks elsewhere what was cancelled before', async () => {
    // More than the buffers between a server and its client hold.
    await primary.rows(
      `INSERT INTO events SELECT 1, 1000 + place, 1, NULL, 0, 0, 0, 0, NULL, place FROM generate_series(1, 200000) place`,
    );
    await nextVersion();
    const dataset = await openPublished(store, 'acme');
    const reading = dataset.events({ scope: FULL_SCOPE, range: {} })[Symbol.asyncIterator]();
    assert.equal((await reading.next()).done, false);
    for (const replica of replicas) {
      await at(replica).rows(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      );
    }
    await assert.rejects(async () => {
      for (;;) if ((await reading.next()).done) return;
    });
    // All its connections were ended.
    assert.deepEqual(await ids(dataset), ['10', ...FIRST_BOARDS]);
  });

  it('is served anew within two seconds while the replicas lag, tag and body of one version', async (t) => {
    const keyring = openPostgresKeyring(new Database(url));
    const server = await startServer({
      store,
      keyring,
      host: '127.0.0.1',
      port: 0,
      defaultVariant: 'a',
      logLevel: 'silent',
    });
    t.after(async () => {
      await server.stop();
      await keyring.close();
    });
    const grant = {
      organization: 'acme',
      label: '',
      scope: FULL_SCOPE,
      redact: { email: false, name: false, id: false },
    };
    const { key: apikey } = await keyring.create(grant, undefined);
    const get = async () => {
      const response = await fetch(`${server.address}/v1/boards`, { headers: { apikey } });
      return `${response.headers.get('etag')} ${(await response.text()).includes('Ten') ? 'new' : 'old'}`;
    };
    const old = await get();
    await pause(true);
    await nextVersion();
    const answers = new Set<string>();
    const published = performance.now();
    const took = () => performance.now() - published;
    for (let answer = old; !answer.endsWith('new') && took() < 2_000; answers.add(answer))
      answer = await get();
    assert.ok(took() < 2_000, `it took ${took()} ms`);
    for (let times = 0; times < 5; times += 1) answers.add(await get());
    await pause(false);
    for (let times = 0; times < 5; times += 1) answers.add(await get());
    const [first, second, ...more] = answers;
    assert.deepEqual([first, more], [old, []]);
    assert.match(second ?? '', /new$/);
    assert.notEqual(second?.split(' ')[0], old.split(' ')[0]);
  });
});
