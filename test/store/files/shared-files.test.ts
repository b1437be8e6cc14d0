/**
 * The contents of the database and of the caches after a publication into a shared store, in all
 * cases of failure.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { PostgresCatalog } from '../../../src/store/catalog/postgres-catalog.ts';
import { PostgresDatabase } from '../../../src/store/catalog/postgres-database.ts';
import type { ChunkPlace } from '../../../src/store/chunks/chunk-place.ts';
import { chunkName, decodeManifest } from '../../../src/store/chunks/manifest.ts';
import { openPlace } from '../../../src/store/chunks/places.ts';
import { VersionCache } from '../../../src/store/files/cache.ts';
import { SharedFiles } from '../../../src/store/files/shared-files.ts';
import { VersionStore } from '../../../src/store/files/version-store.ts';
import { forgetUsers } from '../../../src/store/forgotten.ts';
import { temporaryFolder } from '../../cli/command.ts';
import { publishRecords, WORLD } from '../../dataset/small-world.ts';
import { IS_LONG } from '../../long.ts';
import { until } from '../../server/stand.ts';
import { copyDatabase } from '../../shared-servers.ts';
import { newMigratedDatabase, openCachedStore } from '../../storage.ts';
import { manyEvents, publishEvents, stage } from '../many-events.ts';
import '../../without-coverage.ts';

const NAME = 'school';
/** Longer than any test. */
const LONG_LEASE_MS = 600_000;
/** Enough for several chunks. */
const FIRST_EVENTS = IS_LONG ? 100_000 : 30_000;
const busy = { name: 'AppError', code: 'organization-busy' };

const scratch = temporaryFolder();
let folder: string;
let tests = 0;
let url: string;
let database: PostgresDatabase;
const closing: { close(): Promise<void> }[] = [];

beforeEach(async () => {
  tests += 1;
  folder = join(scratch, String(tests));
  url = await newMigratedDatabase();
  database = new PostgresDatabase(url);
  closing.push(database);
});
afterEach(async () => {
  for (const opened of closing.splice(0).reverse()) await opened.close();
});

async function openStore(cache: string, leaseMs = LONG_LEASE_MS): Promise<VersionStore> {
  const store = await openCachedStore(url, join(folder, cache), leaseMs);
  closing.push(store);
  return store;
}

/** A store whose place for chunks has some methods replaced. */
function openAltered(cache: string, alter: (place: ChunkPlace) => Partial<ChunkPlace>): VersionStore {
  const altered = new PostgresDatabase(url);
  const catalog = new PostgresCatalog(altered, LONG_LEASE_MS);
  const files = new SharedFiles(catalog, new VersionCache(join(folder, cache), 1e9), async (address) => {
    const place = await openPlace(address, altered);
    const methods = alter(place);
    return new Proxy(place, {
      get: (target, name: keyof ChunkPlace) => {
        const value = methods[name] ?? target[name];
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  });
  const store = new VersionStore(catalog, files);
  closing.push(store);
  return store;
}

/** Names of the stored chunks, and of those that versions need. */
async function chunks() {
  const stored = (await database.rows('SELECT name FROM chunks')).map(([name]) => String(name));
  const versions = await database.rows(
    'SELECT folder, manifest FROM versions JOIN organizations USING (organization) WHERE manifest IS NOT NULL',
  );
  const needed = versions.flatMap(([organization, manifest]) =>
    decodeManifest(manifest as Uint8Array).chunks.map((chunk) => chunkName(String(organization), chunk)),
  );
  return { stored: stored.toSorted(), needed: [...new Set(needed)].toSorted() };
}

async function assertCollected(): Promise<void> {
  const { stored, needed } = await chunks();
  assert.deepEqual(stored, needed);
}

/** The number of events of the current version, fetched as by a machine with an empty cache. */
async function eventsAnew(): Promise<number | undefined> {
  const store = await openStore(`again-${closing.length}`);
  const dataset = await store.openDataset(NAME);
  await dataset?.close();
  return dataset?.counts.events;
}

/** As if the holder of the turn had been silent for too long. */
const expireLease = () => database.rows("UPDATE leases SET ends = now() - interval '1 s'");

interface Importer {
  readonly child: ChildProcess;
  /** The next line of its output. */
  said(): Promise<string | undefined>;
}

/** A started import in a separate process. */
async function startImporter(first: number, count: number, leaseMs = LONG_LEASE_MS): Promise<Importer> {
  const program = join(import.meta.dirname, '../importer.ts');
  const words = [url, join(folder, 'importer'), leaseMs, NAME, first, count].map(String);
  const child = spawn(process.execPath, [program, ...words], { stdio: ['pipe', 'pipe', 'inherit'] });
  closing.push({ close: async () => void child.kill('SIGKILL') });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const said = async () => (await lines.next()).value;
  assert.equal(await said(), 'begun');
  return { child, said };
}

/**
 * Kills an import that has stored its chunks, before the transaction that makes the version
 * current.
 */
async function killBeforeTransaction({ child }: Importer): Promise<void> {
  const blocking = await database.connect();
  await blocking.rows('BEGIN');
  await blocking.rows('UPDATE corkboard.catalog SET tick = tick');
  child.stdin?.write('go\n');
  const waiting = `SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%tick = tick + 1%'`;
  // On another connection: a transaction sees the activity of its beginning.
  await until(async () => (await database.rows(waiting)).length > 0);
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
  await blocking.rows('ROLLBACK');
  await blocking.close();
}

describe('an import that is killed before its version is current', () => {
  it('publishes nothing, and its chunks are removed by the next import', async () => {
    const store = await openStore('cache');
    await store.createOrganization(NAME, {});
    await publishEvents(store, NAME, 1, 1_000);
    await assertCollected();
    const version = await store.currentVersion(NAME);
    await killBeforeTransaction(await startImporter(1_001, 1_000));
    const { stored, needed } = await chunks();
    assert.ok(stored.length > needed.length);
    assert.equal(await store.currentVersion(NAME), version);
    assert.equal(await eventsAnew(), 1_000);
    await publishEvents(store, NAME, 5_001, 10);
    await assertCollected();
    assert.equal(await eventsAnew(), 1_010);
  });

  it('is resumed by the next one if it was the very first', async (t) => {
    const store = await openStore('cache');
    await store.createOrganization(NAME, {});
    await killBeforeTransaction(await startImporter(1, FIRST_EVENTS));
    const left = (await chunks()).stored;
    assert.equal(await store.currentVersion(NAME), undefined);
    await publishEvents(store, NAME, 1, FIRST_EVENTS);
    const [row] = await database.rows('SELECT bytes, uploaded_bytes FROM versions');
    const [bytes = 0, uploaded = 0] = (row ?? []).map(Number);
    t.diagnostic(`${uploaded} of ${bytes} bytes were stored again`);
    // The difference is small: mainly the identity of the version.
    assert.ok(left.length > 5 && uploaded < bytes / 2);
    await assertCollected();
    assert.equal(await eventsAnew(), FIRST_EVENTS);
  });
});

describe('an import that has lost its turn', () => {
  it('publishes nothing after it was frozen, and the import after it has lost nothing', async () => {
    const store = await openStore('cache', 1_000);
    await store.createOrganization(NAME, {});
    await publishEvents(store, NAME, 1, 100);
    const importer = await startImporter(101, 100, 1_000);
    importer.child.kill('SIGSTOP');
    await publishEvents(store, NAME, 201, 50);
    const version = await store.currentVersion(NAME);
    importer.child.kill('SIGCONT');
    importer.child.stdin?.write('go\n');
    assert.equal(await importer.said(), 'refused organization-busy');
    assert.equal(await store.currentVersion(NAME), version);
    assert.equal(await eventsAnew(), 150);
    await publishEvents(store, NAME, 301, 50);
    await assertCollected();
    assert.equal(await eventsAnew(), 200);
  });

  it('takes the turn from no other process when it ends', async () => {
    const stores = [await openStore('one'), await openStore('two'), await openStore('three')] as const;
    await stores[0].createOrganization(NAME, {});
    const first = await stores[0].beginPublication(NAME, { waitMs: 0 });
    await expireLease();
    const second = await stores[1].beginPublication(NAME, { waitMs: 0 });
    await first.discard();
    await assert.rejects(stores[2].beginPublication(NAME, { waitMs: 0 }), busy);
    await stage(second, manyEvents(1, 10));
    assert.equal((await second.publish()).published, true);
    const third = await stores[2].beginPublication(NAME, { waitMs: 0 });
    await third.discard();
  });

  it('removes no chunk of later versions, however late it collects', async () => {
    const { promise: gate, resolve: openGate } = Promise.withResolvers<void>();
    const { promise: collecting, resolve: tellCollecting } = Promise.withResolvers<void>();
    const lateStore = openAltered('late', (place) => ({
      // It already knows which chunks are needed when it lists the existing ones.
      list: async function* (prefix) {
        tellCollecting();
        await gate;
        yield* place.list(prefix);
      },
    }));
    const store = await openStore('cache');
    await store.createOrganization(NAME, {});
    for (const first of [1, 2_001, 4_001]) await publishEvents(store, NAME, first, 2_000);
    const publishing = publishEvents(lateStore, NAME, 6_001, 2_000);
    await collecting;
    await expireLease();
    // Two more: versions that were kept when it looked are no longer kept.
    for (const first of [8_001, 10_001]) await publishEvents(store, NAME, first, 2_000);
    openGate();
    await publishing;
    const { stored, needed } = await chunks();
    assert.deepEqual(
      needed.filter((name) => !stored.includes(name)),
      [],
    );
    assert.equal(await eventsAnew(), 12_000);
    await publishEvents(store, NAME, 12_001, 1);
    await assertCollected();
  });
});

/** The bytes of a file as characters; empty if it has been deleted since it was listed. */
function contentOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

describe('a forgotten user', () => {
  /** Places that still contain the user: tables of the catalog, chunks, files of the caches. */
  async function traces(): Promise<readonly string[]> {
    const person = /una@x\.example|Una Gone/;
    const tables = await database.rows(
      "SELECT relname::text FROM pg_class WHERE relnamespace = 'corkboard'::regnamespace AND relkind = 'r'",
    );
    const found: string[] = [];
    for (const [table] of tables) {
      const columns = await database.rows(
        `SELECT attname::text, atttypid = 'bytea'::regtype FROM pg_attribute
         WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`,
        [`corkboard.${String(table)}`],
      );
      for (const [column, isBytes] of columns) {
        const rows = await database.rows(
          `SELECT ${String(column)}${isBytes === true ? '' : '::text'} FROM corkboard.${String(table)}`,
        );
        for (const [value] of rows) {
          const text = value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value);
          if (person.test(text)) found.push(`${String(table)}.${String(column)}`);
        }
      }
    }
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) =>
      file.isFile(),
    );
    for (const { parentPath, name } of files) {
      if (person.test(contentOf(join(parentPath, name)))) found.push(name);
    }
    return found;
  }

  /** A database with three versions, and the caches of two machines that have them. */
  let published: { readonly url: string; readonly folder: string } | undefined;

  async function publishThree() {
    const [one, two] = [await openStore('one'), await openStore('two')];
    await one.createOrganization(NAME, {});
    for (const title of ['One', 'Two', 'Three']) {
      await publishRecords(one, NAME, WORLD, { title });
      await (await two.openDataset(NAME))?.close();
    }
    for (const opened of closing.splice(0).reverse()) await opened.close();
    return { url, folder };
  }

  /** Continues in a copy of what was published once. */
  async function publishAndOpen() {
    published ??= await publishThree();
    folder = join(scratch, `copy-${tests}`);
    for (const cache of ['one', 'two']) {
      cpSync(join(published.folder, cache), join(folder, cache), { recursive: true });
    }
    url = await copyDatabase(published.url);
    database = new PostgresDatabase(url);
    closing.push(database);
    const [one, two] = [await openStore('one'), await openStore('two')];
    const before = await traces();
    assert.ok(
      before.includes('chunks.bytes') && before.filter((name) => name.endsWith('.duckdb')).length >= 6,
    );
    return { one, two };
  }

  it('is in no table, no chunk and no cache afterwards', async () => {
    const { one, two } = await publishAndOpen();
    await forgetUsers(one, NAME, [3n], { waitMs: 0 });
    // The other machine finds out when it requests the current version.
    await two.currentVersion(NAME);
    await until(async () => (await traces()).length === 0);
    assert.equal(await two.openEarlier(NAME), undefined);
    await (await two.openDataset(NAME))?.close();
    assert.deepEqual(await traces(), []);
    await assertCollected();
  });

  it('is in no cache of a machine that was fetching the version at that time', async () => {
    const { one, two } = await publishAndOpen();
    const rows = await database.rows('SELECT name, bytes FROM chunks');
    const before = new Map(rows.map(([name, bytes]) => [String(name), bytes as Uint8Array]));
    let forgetting: Promise<unknown> | undefined;
    const slow = openAltered('slow', (place) => ({
      get: async (name) => {
        forgetting ??= forgetUsers(one, NAME, [3n], { waitMs: 0 });
        await forgetting;
        return before.get(name) ?? (await place.get(name));
      },
    }));
    const dataset = await slow.openDataset(NAME);
    assert.equal(dataset?.version, await one.currentVersion(NAME));
    await dataset?.close();
    await two.currentVersion(NAME);
    await until(async () => (await traces()).length === 0);
  });

  it('is in no cache of a machine that only imports, once the machine has started an import', async () => {
    const { one, two } = await publishAndOpen();
    await forgetUsers(one, NAME, [3n], { waitMs: 0 });
    const publication = await two.beginPublication(NAME, { waitMs: 0 });
    assert.deepEqual(await traces(), []);
    await publication.discard();
  });

  it('is removed by the next attempt if a forgetting was killed after its publication', async () => {
    const { one, two } = await publishAndOpen();
    // The remains: the earlier version in the cache, and chunks that no version needs.
    const left = join(folder, 'one', readdirSync(join(folder, 'one'))[0]!);
    const [organization = ''] = readdirSync(left);
    const file = readFileSync(join(left, organization, '3.duckdb'));
    await forgetUsers(one, NAME, [3n], { waitMs: 0 });
    for (const name of ['3.duckdb', '2.duckdb.0-0.partial'])
      writeFileSync(join(left, organization, name), file);
    await database.rows('INSERT INTO chunks VALUES ($1, $2)', [
      `${organization}/1-0`,
      file.subarray(0, 262_144),
    ]);
    await two.currentVersion(NAME);
    assert.ok((await traces()).length > 0);
    const again = await forgetUsers(one, NAME, [3n], { waitMs: 0 });
    assert.equal(again.published, false);
    assert.deepEqual(await traces(), []);
    await assertCollected();
  });
});

describe('two stores on one database', () => {
  it("see each other's versions, on request and when they watch", async () => {
    const [one, two] = [await openStore('one'), await openStore('two')];
    const heard: string[] = [];
    closing.push({ close: async () => stop() });
    const stop = two.watch((organization) => heard.push(organization));
    await one.createOrganization(NAME, {});
    await one.createOrganization('other', {});
    assert.equal(await two.currentVersion(NAME), undefined);
    const listening =
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN corkboard'";
    await until(async () => (await database.rows(listening)).length === 1);
    const { version } = await publishRecords(one, NAME, WORLD);
    assert.equal(await two.currentVersion(NAME), version);
    assert.equal(await two.currentVersion(NAME.toUpperCase()), version);
    assert.equal(await two.currentVersion('other'), undefined);
    await until(() => heard.includes(NAME));
    const next = await publishRecords(two, NAME, {}, { title: 'School' });
    assert.equal(await one.currentVersion(NAME), next.version);
    const dataset = await one.openDataset(NAME);
    assert.equal(dataset?.organization.title, 'School');
    await dataset?.close();
    const earlier = await one.openEarlier(NAME);
    assert.equal(earlier?.version, version);
    await earlier?.close();
    assert.ok(!heard.includes('other'));
  });
});

describe('the storage for an additional import', () => {
  /**
   * The number of changed chunks hardly grows with the version. Their share is small only if a
   * version has many chunks.
   */
  const MOST_CHUNKS = 12;
  const EVENTS = IS_LONG ? 200_000 : 80_000;

  it('is a few chunks, however many events there are', async (t) => {
    const store = await openStore('cache');
    await store.createOrganization(NAME, {});
    await publishEvents(store, NAME, 1, EVENTS);
    await publishEvents(store, NAME, EVENTS + 1, 1_000);
    const versions = await database.rows(
      'SELECT manifest, bytes, uploaded_bytes FROM versions ORDER BY publication',
    );
    const [first, second] = versions.map(([manifest]) => decodeManifest(manifest as Uint8Array).chunks);
    const known = new Set(first?.map(({ digest }) => digest));
    const changed = second?.filter(({ digest }) => !known.has(digest)).length ?? 0;
    t.diagnostic(`${changed} of ${second?.length} chunks, ${versions[1]?.[2]} of ${versions[1]?.[1]} bytes`);
    assert.ok(changed <= MOST_CHUNKS);
    assert.ok(Number(versions[1]?.[2]) <= changed * 256 * 1024);
  });
});
