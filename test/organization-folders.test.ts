/**
 * Data folders of earlier versions, in which the folders of organizations were beside the files of
 * the data folder (decision 61).
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openSqliteKeyring } from '../src/keys/sqlite-keyring.ts';
import { openFolderStore } from '../src/store/files/open-folder.ts';
import { openPublished, publishRecords, WORLD } from './dataset/small-world.ts';
import { IS_LONG } from './long.ts';

/** Earlier versions could publish organizations with each of these names, in one data folder. */
const NAMES = [
  'acme',
  'organizations',
  'generations',
  'publication.lock',
  'keys.db-wal',
  'catalog.db-journal',
];
/**
 * Names of files in the data folder. Earlier versions could not publish organizations with these
 * names.
 */
const NAMES_OF_FILES = ['catalog.db', 'catalog.db-wal', 'keys.db', 'organizations'];
/** Enough for kills between folders; the name of the new folder is among them. */
const KILLED_NAMES = IS_LONG ? NAMES : NAMES.slice(0, 3);
/** Outside of long runs every second step is killed; which ones changes from day to day. */
const STRIDE = IS_LONG ? 1 : 2;
const FIRST_STEP = 1 + (Math.floor(Date.now() / 86_400_000) % STRIDE);
/** Processes that open the same folder. */
const AT_ONCE = IS_LONG ? 4 : 2;
const OPENING = join(import.meta.dirname, 'killed-opening.ts');

const place = mkdtempSync(join(tmpdir(), 'corkboard-layout-'));
const original = join(place, 'original');
const few = join(place, 'few');
before(async () => {
  await publishInto(original, KILLED_NAMES);
  cpSync(original, few, { recursive: true });
  await publishInto(original, NAMES.slice(KILLED_NAMES.length));
  makeOld(few, KILLED_NAMES);
  makeOld(original, NAMES);
});
after(() => rmSync(place, { recursive: true }));

async function publishInto(folder: string, names: readonly string[]): Promise<void> {
  const store = await openFolderStore(folder);
  for (const name of names) {
    await store.createOrganization(name, { title: `The ${name}` });
    await publishRecords(store, name, WORLD);
  }
  await store.close();
}

/** Moves the folders to where earlier versions had them. */
function makeOld(folder: string, names: readonly string[]): void {
  const container = join(folder, 'organizations');
  renameSync(container, join(folder, '.aside'));
  for (const name of names) renameSync(join(folder, '.aside', name), join(folder, name));
  rmdirSync(join(folder, '.aside'));
}

let copies = 0;
function oldFolder(from = original): string {
  copies += 1;
  const folder = join(place, `copy-${copies}`);
  cpSync(from, folder, { recursive: true });
  return folder;
}

/**
 * Asserts that every organization can be read, that one of them can be published again if
 * `publishes`, and that no folder remains in its earlier place.
 */
async function assertWhole(folder: string, names = NAMES, publishes = true): Promise<void> {
  const keyring = openSqliteKeyring(folder);
  const store = await openFolderStore(folder);
  for (const name of names) {
    const dataset = await openPublished(store, name);
    assert.equal(dataset.counts.events, 5, name);
    await dataset.close();
    if (name !== 'organizations' || !publishes) continue;
    const { published, problems } = await publishRecords(store, name, {}, { title: `The next ${name}` });
    assert.deepEqual([published, problems], [true, []], name);
  }
  assert.deepEqual(await keyring.list(undefined), []);
  await Promise.all([store.close(), keyring.close()]);
  assert.deepEqual(readdirSync(join(folder, 'organizations')).toSorted(), names.toSorted());
  const beside = readdirSync(folder).filter((name) => !/^(?:catalog|keys)\.db|^\./.test(name));
  assert.deepEqual(beside, ['organizations']);
}

/** Exit code of a process that opens the folder; `null` if it was killed. */
async function open(folder: string, killBefore = 0): Promise<number | null> {
  const child = spawn(process.execPath, [OPENING, folder], {
    env: { ...process.env, KILL_BEFORE: String(killBefore) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return code;
}

/** As a command does at first, in this process. */
async function openHere(folder: string): Promise<void> {
  await openSqliteKeyring(folder).close();
  await (await openFolderStore(folder)).close();
}

describe('a data folder of an earlier version', () => {
  it('is moved when it is opened, with any names of organizations', async () => {
    await assertWhole(oldFolder());
  });

  it('is complete after a kill before any step of the move and a second opening', async () => {
    let step = FIRST_STEP;
    for (; ; step += STRIDE) {
      const folder = oldFolder(few);
      if ((await open(folder, step)) !== null) break;
      if (step % (2 * STRIDE) === FIRST_STEP) await open(folder, 3);
      await assertWhole(folder, KILLED_NAMES, step === FIRST_STEP);
      rmSync(folder, { recursive: true });
    }
    // At least one folder per organization was moved.
    assert.ok(step - STRIDE > KILLED_NAMES.length, `step ${step} was not reached`);
  });

  it('is moved once by processes that open it at the same time', async () => {
    const folder = oldFolder();
    const codes = await Promise.all(Array.from({ length: AT_ONCE }, () => open(folder)));
    assert.deepEqual(new Set(codes), new Set([0]));
    await assertWhole(folder);
  });

  it('is not moved while a different process moves it', async () => {
    const folder = oldFolder(few);
    const lock = new DatabaseSync(join(folder, '.layout.lock'));
    lock.exec('BEGIN EXCLUSIVE');
    const opening = open(folder);
    // Several times what the process needs. A move that waits cannot fail here.
    assert.equal(await Promise.race([opening, delay(2_000, 'waits')]), 'waits');
    assert.equal(existsSync(join(folder, 'acme')), true);
    lock.close();
    assert.equal(await opening, 0);
    await assertWhole(folder, KILLED_NAMES);
  });

  it('loses the files of an import by the earlier version that continues after the move', async () => {
    const folder = oldFolder();
    await openHere(folder);
    mkdirSync(join(folder, 'acme', 'generations'), { recursive: true });
    writeFileSync(join(folder, 'acme', 'publication.lock'), '');
    await assertWhole(folder);
  });

  it('is refused and unchanged if it contains an organization in both places', async () => {
    const folder = oldFolder();
    await openHere(folder);
    cpSync(join(original, 'acme'), join(folder, 'acme'), { recursive: true });
    await assert.rejects(openFolderStore(folder), { code: 'data-unreadable', message: /"acme" twice/ });
    assert.ok(existsSync(join(folder, 'acme', 'generations', '1.duckdb')));
    assert.ok(existsSync(join(folder, 'organizations', 'acme', 'generations', '1.duckdb')));
  });

  it('keeps folders that do not belong to organizations', async () => {
    const folder = oldFolder();
    mkdirSync(join(folder, 'inbox'));
    writeFileSync(join(folder, 'inbox', 'users.csv'), '');
    await openHere(folder);
    assert.deepEqual(readdirSync(join(folder, 'inbox')), ['users.csv']);
  });
});

describe('an organization', () => {
  it('of any name does not affect the files of the data folder', async () => {
    const folder = join(place, 'new');
    await publishInto(folder, NAMES_OF_FILES);
    await assertWhole(folder, NAMES_OF_FILES);
  });

  it('has one folder for all spellings of its name', async () => {
    const folder = join(place, 'case');
    await publishInto(folder, ['School']);
    const store = await openFolderStore(folder);
    await assert.rejects(store.createOrganization('sCHOOL', {}), { code: 'organization-exists' });
    await publishRecords(store, 'SCHOOL', {}, { title: 'The other school' });
    assert.deepEqual(readdirSync(join(folder, 'organizations')), ['School']);
    await store.close();
  });
});
