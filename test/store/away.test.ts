/**
 * A shared store whose database is killed, restarted or frozen, and readers that hold none of its
 * connections.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { NO_REDACTION } from '../../src/domain/redaction.ts';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { openPostgresKeyring } from '../../src/keys/postgres-keyring.ts';
import { startServer } from '../../src/server/start.ts';
import { PostgresDatabase } from '../../src/store/catalog/postgres-database.ts';
import { openSharedStore } from '../../src/store/files/open-shared.ts';
import type { VersionStore } from '../../src/store/files/version-store.ts';
import { temporaryFolder } from '../cli/command.ts';
import { publishRecords, WORLD } from '../dataset/small-world.ts';
import { startPostgres, type Throwaway } from '../postgres/throwaway.ts';
import { until } from '../server/stand.ts';
import { migrateDatabase, openCachedStore } from '../storage.ts';
import { publishEvents } from './many-events.ts';

const NAME = 'school';
const AT_LAST_MS = 10_000;
const away = { name: 'AppError', code: 'database-away' };

const folder = temporaryFolder();
let postgres: Throwaway;
let url: string;
let store: VersionStore;
let stores = 0;

before(async () => {
  postgres = await startPostgres();
  url = await postgres.newDatabase();
  await migrateDatabase(url);
  const first = await openStore();
  await first.createOrganization(NAME, {});
  await publishRecords(first, NAME, WORLD);
  await first.close();
});
after(() => postgres.stop());
beforeEach(async () => {
  store = await openStore();
});
afterEach(() => store.close());

/** With an empty cache. */
async function openStore(): Promise<VersionStore> {
  stores += 1;
  return await openCachedStore(url, join(folder, `cache-${stores}`));
}

const CALLS = {
  organizations: () => store.organizations(),
  currentVersion: () => store.currentVersion(NAME),
  openDataset: () => store.openDataset(NAME),
  openEarlier: () => store.openEarlier(NAME),
  openRows: () => store.openRows(NAME),
  createOrganization: () => store.createOrganization('another', {}),
  beginPublication: () => store.beginPublication(NAME, { waitMs: 0 }),
} as const satisfies Record<string, () => Promise<unknown>>;

async function assertAway(call: () => Promise<unknown>, name: string): Promise<void> {
  await assert.rejects(call(), away, name);
}

/** Waits until the same store, which met the failure, recovers by itself. */
async function assertBack(): Promise<void> {
  await until(() =>
    store.organizations().then(
      () => true,
      () => false,
    ),
  );
  const dataset = await store.openDataset(NAME);
  assert.equal(dataset?.counts.events, 5);
  await dataset?.close();
  const publication = await store.beginPublication(NAME, { waitMs: AT_LAST_MS });
  await publication.discard();
}

describe('every call to a store', () => {
  it('ends with database-away while the database is down, and succeeds when it is back', async () => {
    await store.organizations();
    await postgres.kill();
    for (const [name, call] of Object.entries(CALLS)) await assertAway(call, name);
    await postgres.start();
    await assertBack();
  });

  it('succeeds after a restart between two calls', async () => {
    await store.organizations();
    await postgres.crash();
    await postgres.start();
    await assertBack();
  });

  it('ends with database-away while the database does not respond, for all calls at once', async () => {
    await store.organizations();
    postgres.freeze();
    try {
      await Promise.all(Object.entries(CALLS).map(([name, call]) => assertAway(call, name)));
    } finally {
      postgres.thaw();
    }
    await assertBack();
  });
});

describe('a transaction in the catalog', () => {
  it('waits only once when the database stops in the middle of it', async () => {
    const blocking = new PostgresDatabase(url);
    const holder = await blocking.connect();
    await holder.rows('BEGIN');
    await holder.rows('UPDATE corkboard.catalog SET tick = tick');
    // The transaction has begun, and waits for the row when the database stops responding.
    const creating = assertAway(() => store.createOrganization('another', {}), 'createOrganization');
    const waiting = `SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await until(async () => (await blocking.rows(waiting)).length > 0);
    postgres.freeze();
    try {
      const waitTwice = async () => {
        for (let wait = 0; wait < 2; wait += 1)
          await assertAway(() => store.organizations(), 'organizations');
        return 'two waits';
      };
      const two = waitTwice();
      assert.equal(await Promise.race([creating.then(() => 'one wait'), two]), 'one wait');
      await two;
    } finally {
      postgres.thaw();
    }
    await holder.close();
    await blocking.close();
    await assertBack();
  });
});

describe('a fetch of a version', () => {
  it('waits no longer when the database stops between its chunks', async () => {
    const large = await openStore();
    await large.createOrganization('large', {});
    await publishEvents(large, 'large', 1, 50_000);
    await large.close();
    const database = new PostgresDatabase(url);
    const rows = database.rows.bind(database);
    let gets = 0;
    database.rows = async (sql, parameters) => {
      if (sql.includes('FROM chunks')) gets += 1;
      if (gets === 3) postgres.freeze();
      return await rows(sql, parameters);
    };
    const fetching = await openSharedStore(database, { folder: join(folder, 'stopped'), limitBytes: 1e9 });
    try {
      await assertAway(() => fetching.openDataset('large'), 'openDataset');
    } finally {
      gets = 4;
      postgres.thaw();
    }
    await until(() =>
      fetching.openDataset('large').then(
        async (dataset) => {
          await dataset?.close();
          return dataset?.counts.events === 50_000;
        },
        () => false,
      ),
    );
    await fetching.close();
  });
});

describe('a publication whose database goes down', () => {
  it('fails as a whole, and keeps the current version', async () => {
    const version = await store.currentVersion(NAME);
    const publication = await store.beginPublication(NAME, { waitMs: 0 });
    publication.changeSettings({ title: 'Never' });
    await publication.check(() => undefined);
    await postgres.kill();
    // Chunks are retried for some seconds, since a restarting database is back after some seconds.
    await assert.rejects(publication.publish(), away);
    await publication.discard();
    await postgres.start();
    await assertBack();
    assert.equal(await store.currentVersion(NAME), version);
  });
});

describe('a slow reader', () => {
  it('holds no connection of the database', async () => {
    const keyring = openPostgresKeyring(new PostgresDatabase(url));
    await store.createOrganization('slow', {});
    await publishEvents(store, 'slow', 1, 100_000);
    const grant = { organization: 'slow', label: 'slow', scope: FULL_SCOPE, redact: NO_REDACTION };
    const { key } = await keyring.create(grant, undefined);
    const listen = { host: '127.0.0.1', port: 0, defaultVariant: 'a', logLevel: 'silent' } as const;
    const server = await startServer({ ...listen, store, keyring });
    const database = new PostgresDatabase(url);
    const sockets = Array.from({ length: 8 }, () => {
      const socket = connect(Number(new URL(server.address).port), '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write(`GET /a/v1/events HTTP/1.1\r\nHost: x\r\nConnection: close\r\napikey: ${key}\r\n\r\n`);
      return socket;
    });
    try {
      // Each socket has its first bytes, and reads no more.
      for (const socket of sockets) await once(socket, 'readable');
      // Store and keyring have two connections each, and one listens; none is in a transaction or a
      // statement.
      const activity = `SELECT state::text FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()`;
      await until(async () => (await database.rows(activity)).every(([state]) => state === 'idle'));
      assert.ok((await database.rows(activity)).length <= 5);
      assert.ok(sockets.every((socket) => !socket.readableEnded));
    } finally {
      for (const socket of sockets) socket.destroy();
      await server.stop();
      await keyring.close();
      await database.close();
    }
  });
});
