/** The spare of a version: when there is one, and that building in it changes nothing else. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, it, type TestContext } from 'node:test';
import { openSqliteCatalog } from '../../../src/store/catalog/sqlite-catalog.ts';
import { digestsOf } from '../../../src/store/chunks/chunk-digests.ts';
import { LocalFiles } from '../../../src/store/files/local-files.ts';
import { encodeDigests } from '../../../src/store/files/recorded-digests.ts';
import { VersionStore } from '../../../src/store/files/version-store.ts';
import { forgottenUser } from '../../../src/store/forgotten.ts';
import { temporaryFolder } from '../../cli/command.ts';
import { eventsInWords, openPublished, publishRecords } from '../../dataset/small-world.ts';
import { publishEvents } from '../many-events.ts';

const EVENTS = 500;
const root = temporaryFolder();
let data: string;

/** With spares for versions of any size, unless told otherwise. */
function openStore(t: TestContext, leastSpareBytes = 0): VersionStore {
  const catalog = openSqliteCatalog(data);
  const store = new VersionStore(catalog, new LocalFiles(data, catalog, leastSpareBytes));
  t.after(() => store.close());
  return store;
}

const generations = () => join(data, 'organizations/school/generations');
const path = (name: string | number) =>
  join(generations(), typeof name === 'string' ? name : `${name}.duckdb`);
const spares = () => readdirSync(generations()).filter((name) => name.includes('spare'));

/** Publishes versions of more and more events. */
async function publishTimes(store: VersionStore, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    await publishEvents(store, 'school', (await store.versions('school')).length * EVENTS, EVENTS);
  }
}

async function wordsOf(store: VersionStore): Promise<readonly string[]> {
  const dataset = await openPublished(store, 'school');
  try {
    return await eventsInWords(dataset);
  } finally {
    await dataset.close();
  }
}

async function assertIntact(store: VersionStore): Promise<void> {
  const found: string[] = [];
  await store.check(['school'], ({ message }) => found.push(message), { onBytes: () => {} });
  assert.deepEqual(found, []);
}

beforeEach(() => {
  data = mkdtempSync(join(root, 'data-'));
});

async function newSchool(t: TestContext, leastSpareBytes?: number): Promise<VersionStore> {
  const store = openStore(t, leastSpareBytes);
  await store.createOrganization('school', {});
  return store;
}

describe('the spare of a version', () => {
  it('is made when a version is not kept any longer, and becomes the next version', async (t) => {
    const store = await newSchool(t);
    await publishTimes(store, 3);
    assert.deepEqual(spares(), []);
    const first = statSync(path(1)).ino;
    await publishTimes(store, 1);
    const [spare, ...others] = spares();
    assert.ok(spare !== undefined && others.length === 0);
    assert.equal(statSync(path(spare)).ino, first);
    assert.ok(readFileSync(path(spare)).equals(readFileSync(path(4))));
    assert.ok(!existsSync(path('1.manifest')) && !existsSync(path('1.readers')));
    await assertIntact(store);
    await publishTimes(store, 1);
    assert.equal(statSync(path(5)).ino, first);
  });

  it('gives the same versions and digests as a copy', async (t) => {
    const store = await newSchool(t);
    const all: (readonly string[])[] = [];
    const changes: readonly (() => Promise<unknown>)[] = [
      ...Array.from({ length: 5 }, () => () => publishTimes(store, 1)),
      () => publishRecords(store, 'school', { users: [{ id: 1n, email: 'new@x.example', name: 'New' }] }),
      () => store.rollBack('school', 5, { waitMs: 0 }),
      () => publishTimes(store, 1),
      () => publishRecords(store, 'school', {}, { lmsUserProperties: ['sis'] }),
      () => publishTimes(store, 1),
    ];
    let publication = 0;
    for (const change of changes) {
      await change();
      publication += 1;
      const recorded = readFileSync(path(`${publication}.manifest`));
      assert.ok(recorded.equals(encodeDigests(await digestsOf(path(publication)))), `${publication}`);
      await assertIntact(store);
      all.push(await wordsOf(store));
    }
    data = `${data}-control`;
    const control = await newSchool(t, Number.POSITIVE_INFINITY);
    await publishTimes(control, 5);
    assert.deepEqual(all[4], await wordsOf(control));
    assert.deepEqual(all[6], all[4]);
    assert.equal(all[9]!.length, all[4]!.length + 2 * EVENTS);
    assert.deepEqual(spares(), []);
  });

  it('is not made of a version that is being read', async (t) => {
    const store = await newSchool(t);
    await publishTimes(store, 1);
    const dataset = await openPublished(store, 'school');
    const words = await eventsInWords(dataset);
    await publishTimes(store, 3);
    assert.deepEqual(spares(), []);
    await publishTimes(store, 1);
    assert.equal(spares().length, 1);
    await publishTimes(store, 1);
    assert.deepEqual(await eventsInWords(dataset), words);
    await dataset.close();
  });

  it('is not made of a version that a different program has open', async (t) => {
    const store = await newSchool(t);
    await publishTimes(store, 3);
    const program = `
      const { DuckDBInstance } = await import('@duckdb/node-api');
      globalThis.instance = await DuckDBInstance.create(${JSON.stringify(path(1))}, { access_mode: 'READ_ONLY' });
      console.log('open');
      setInterval(() => {}, 1000);`;
    const reader = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(() => reader.kill());
    await once(reader.stdout, 'data');
    await publishTimes(store, 1);
    assert.deepEqual(spares(), []);
    assert.ok(!existsSync(path(1)));
    await publishTimes(store, 1);
    assert.equal(spares().length, 1);
  });

  it('is neither made of a file with a second name, nor used if it has one', async (t) => {
    const store = await newSchool(t);
    await publishTimes(store, 3);
    linkSync(path(1), path('../backup-of-1'));
    await publishTimes(store, 1);
    assert.deepEqual(spares(), []);
    await publishTimes(store, 1);
    const [spare] = spares();
    linkSync(path(spare!), path('../backup-of-spare'));
    const before = readFileSync(path('../backup-of-spare'));
    await publishTimes(store, 1);
    assert.ok(readFileSync(path('../backup-of-spare')).equals(before));
    await assertIntact(store);
  });

  it('is deleted with an erasure, and if it is that of a different version', async (t) => {
    const store = await newSchool(t);
    await publishTimes(store, 4);
    assert.equal(spares().length, 1);
    const publication = await store.beginPublication('school', { waitMs: 0 });
    await publication.stage('users', [forgottenUser(2n, { file: 0, line: 1 })]);
    await publication.check(() => undefined);
    await publication.publish();
    assert.deepEqual(spares(), []);
    writeFileSync(path('0123456789abcdef0123456789abcdef.spare'), 'of a version before a restore');
    await publishTimes(store, 1);
    assert.deepEqual(spares(), []);
  });

  it('that was not finished is deleted by the next publication', async (t) => {
    const store = await newSchool(t);
    await publishTimes(store, 2);
    writeFileSync(path('next.building.spare'), 'unfinished');
    await publishTimes(store, 1);
    assert.deepEqual(spares(), []);
    await assertIntact(store);
  });

  it('is not made of a version whose readers were not registered because it was small', async (t) => {
    const store = await newSchool(t, Number.POSITIVE_INFINITY);
    await publishTimes(store, 3);
    const later = openStore(t);
    await publishTimes(later, 3);
    assert.deepEqual(spares(), []);
    await publishTimes(later, 1);
    assert.equal(spares().length, 1);
  });

  it('is not made of small versions', async (t) => {
    const store = await newSchool(t, 64e6);
    await publishTimes(store, 5);
    assert.deepEqual(spares(), []);
    assert.ok(!readdirSync(generations()).some((name) => name.endsWith('.readers')));
  });
});

describe('what a killed process has spilled', () => {
  const spilled = () => readdirSync(generations()).filter((name) => name.startsWith('reading-'));

  function spill(folder: string): void {
    mkdirSync(path(folder));
    writeFileSync(join(path(folder), 'duckdb_temp_storage_DEFAULT-0.tmp'), 'rows');
  }

  it('is deleted when its version is opened, unless a process reads it', async (t) => {
    const store = await newSchool(t);
    await publishTimes(store, 2);
    const reading = await openPublished(store, 'school');
    for (const folder of ['reading-2-a.tmp', 'reading-1-b.tmp']) spill(folder);
    await (await openPublished(store, 'school')).close();
    assert.deepEqual(spilled().sort(), ['reading-1-b.tmp', 'reading-2-a.tmp']);
    await reading.close();
    await (await openPublished(store, 'school')).close();
    assert.deepEqual(spilled(), ['reading-1-b.tmp']);
  });

  it('is deleted with its version', async (t) => {
    const store = await newSchool(t);
    await publishTimes(store, 2);
    spill('reading-1-a.tmp');
    await publishTimes(store, 2);
    assert.ok(!existsSync(path('1.readers')));
    assert.deepEqual(spilled(), []);
  });
});
