/**
 * A shared store whose database fails over to a standby behind one address: everything that the
 * standby has is kept, and anything that it lacks is no longer served.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { NO_REDACTION } from '../../src/domain/redaction.ts';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import type { Keyring } from '../../src/keys/keyring.ts';
import { openPostgresKeyring } from '../../src/keys/postgres-keyring.ts';
import { type RunningServer, startServer } from '../../src/server/start.ts';
import { PostgresDatabase } from '../../src/store/catalog/postgres-database.ts';
import { openSharedStore } from '../../src/store/files/open-shared.ts';
import type { VersionStore } from '../../src/store/files/version-store.ts';
import type { Publication } from '../../src/store/store.ts';
import { temporaryFolder } from '../cli/command.ts';
import { type Switch, startSwitch } from '../postgres/switch.ts';
import { type Standby, startPostgres, type Throwaway } from '../postgres/throwaway.ts';
import { until } from '../server/stand.ts';
import { migrateDatabase, openCachedStore } from '../storage.ts';
import { manyEvents, publishEvents, stage } from './many-events.ts';

const NAME = 'school';
/** A second organization, into which an import is in progress during the failover. */
const UNDER_WAY = 'under-way';
/** A third one, into which an import is storing its chunks at that moment. */
const INTERRUPTED = 'interrupted';

const folder = temporaryFolder();
let pairs = 0;
let primary: Throwaway;
let standby: Standby;
let address: Switch;
let url: string;
let importer: VersionStore;
let store: VersionStore;

/**
 * Sets up two servers behind one address, and two stores over them, for all tests of the calling
 * suite.
 */
function withPair(names: readonly string[]): void {
  before(async () => {
    primary = await startPostgres();
    const own = await primary.newDatabase();
    await migrateDatabase(own);
    standby = await primary.newStandby();
    address = await startSwitch(primary.port);
    url = own.replace(`:${primary.port}/`, `:${address.port}/`);
    pairs += 1;
    importer = await openCachedStore(url, join(folder, `importer-${pairs}`));
    store = await openCachedStore(url, join(folder, `server-${pairs}`));
    for (const name of names) {
      await importer.createOrganization(name, {});
      await publishEvents(importer, name, 1, 1_000);
    }
  });
  after(async () => {
    await importer.close();
    await store.close();
    await address.close();
    await primary.stop();
  });
}

async function failOver(): Promise<void> {
  await primary.crash();
  await standby.promote();
  address.pointAt(standby.port);
}

/**
 * Opens a store whose connections fail over between the first three chunks that it stores and the
 * others. No chunk is under way at that moment: it would end with its connection, which is a
 * different error.
 */
async function openInterrupted(): Promise<VersionStore> {
  const database = new PostgresDatabase(url);
  const rows = database.rows.bind(database);
  const stored: Promise<unknown>[] = [];
  let over: Promise<void> | undefined;
  database.rows = async (sql, parameters) => {
    if (!sql.startsWith('INSERT INTO chunks')) return await rows(sql, parameters);
    if (stored.length === 3) {
      over ??= Promise.allSettled(stored).then(failOver);
      await over;
      return await rows(sql, parameters);
    }
    const result = rows(sql, parameters);
    stored.push(result);
    return await result;
  };
  const cache = { folder: join(folder, `interrupted-${pairs}`), limitBytes: 1e9 };
  return await openSharedStore(database, cache);
}

async function beginImport(): Promise<Publication> {
  const publication = await importer.beginPublication(UNDER_WAY, { waitMs: 0 });
  await stage(publication, manyEvents(1_001, 100));
  return publication;
}

async function eventsOf(from: VersionStore, name = NAME): Promise<number | undefined> {
  const dataset = await from.openDataset(name);
  const events = dataset?.counts.events;
  await dataset?.close();
  return events;
}

/** Calls that use the cut connections fail with this error; the next ones do not. */
function isAway(error: { code?: string }): false {
  assert.equal(error.code, 'database-away');
  return false;
}

async function untilEvents(from: VersionStore, count: number, name = NAME): Promise<void> {
  await until(() => eventsOf(from, name).then((events) => events === count, isAway));
}

describe('a failover to a standby that has everything', () => {
  withPair([NAME, UNDER_WAY]);
  let keyring: Keyring;
  let key: string;
  let server: RunningServer;
  let publication: Publication;
  before(async () => {
    keyring = openPostgresKeyring(new PostgresDatabase(url));
    const grant = { organization: NAME, label: 'all', scope: FULL_SCOPE, redact: NO_REDACTION };
    key = (await keyring.create(grant, undefined)).key;
    const listen = { host: '127.0.0.1', port: 0, defaultVariant: 'a', logLevel: 'silent' } as const;
    server = await startServer({ ...listen, store, keyring });
    await publishEvents(importer, NAME, 1_001, 500);
    assert.equal(await eventsOf(store), 1_500);
    publication = await beginImport();
    await standby.caughtUp();
    await failOver();
  });
  after(async () => {
    await server.stop();
    await keyring.close();
  });

  it('is over within seconds for a server, its keys and /readyz', async () => {
    const statusOf = async (path: string) => {
      const response = await fetch(`${server.address}${path}`, {
        headers: { apikey: key },
        signal: AbortSignal.timeout(10_000),
      });
      await response.arrayBuffer();
      assert.ok([200, 503].includes(response.status), `${path}: ${response.status}`);
      return response.status;
    };
    await until(async () => (await statusOf('/readyz')) === 200);
    await until(async () => (await statusOf('/v1/events?limit=10')) === 200);
  });

  it('lets a publication in progress complete', async () => {
    await publication.publish();
    await untilEvents(store, 1_100, UNDER_WAY);
  });

  it('keeps every version, and accepts new ones', async () => {
    await untilEvents(store, 1_500);
    await publishEvents(importer, NAME, 1_501, 500);
    await untilEvents(store, 2_000);
  });
});

describe('a failover to a standby that lacks the last changes, in the middle of a publication', () => {
  withPair([NAME, UNDER_WAY, INTERRUPTED]);
  let lost: string | undefined;
  let publication: Publication;
  let refusal: unknown;
  before(async () => {
    const failing = await openInterrupted();
    const interrupted = await failing.beginPublication(INTERRUPTED, { waitMs: 0 });
    await stage(interrupted, manyEvents(1_001, 20_000));
    await standby.caughtUp();
    await standby.detach();
    await publishEvents(importer, NAME, 1_001, 500);
    lost = await importer.currentVersion(NAME);
    assert.equal(await eventsOf(store), 1_500);
    publication = await beginImport();
    refusal = await interrupted.publish().then(
      () => undefined,
      (error: unknown) => error,
    );
    await interrupted.discard();
    await failing.close();
  });

  it('withdraws the versions that the standby lacks, and never serves them again', async () => {
    await untilEvents(store, 1_000);
    // The new version has the number of the lost one, which is in both caches.
    await publishEvents(importer, NAME, 5_001, 200);
    await untilEvents(store, 1_200);
    await untilEvents(importer, 1_200);
    assert.notEqual(await store.currentVersion(NAME), lost);
    const another = await openCachedStore(url, join(folder, `another-${pairs}`));
    assert.equal(await eventsOf(another), 1_200);
    await another.close();
  });

  it('refuses a publication whose turn it gives to a different process', async () => {
    await until(() => publishEvents(store, UNDER_WAY, 5_001, 200).then(() => true, isAway));
    await assert.rejects(publication.publish(), { code: 'organization-busy' });
    await publication.discard();
    await untilEvents(importer, 1_200, UNDER_WAY);
  });

  it('refuses the publication, some of whose chunks the standby lacks, but not the next one', async () => {
    assert.match(String(refusal), /does not have all data of this command/);
    await untilEvents(store, 1_000, INTERRUPTED);
    await publishEvents(importer, INTERRUPTED, 1_001, 20_000);
    await untilEvents(store, 21_000, INTERRUPTED);
  });
});
