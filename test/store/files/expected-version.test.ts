/** Which version files a data folder accepts in the place of a version: of copies, and of 0.2. */
import assert from 'node:assert/strict';
import { copyFileSync, cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { openFolderStore } from '../../../src/store/files/open-folder.ts';
import type { VersionStore } from '../../../src/store/files/version-store.ts';
import { organizationDigest } from '../../../src/store/organization-digest.ts';
import { temporaryFolder } from '../../cli/command.ts';
import { openPublished, publishRecords, type Records, WORLD } from '../../dataset/small-world.ts';

const NO_WAIT = { waitMs: 0 };
const COPYING = { ...NO_WAIT, onBytes: () => undefined };
const WRONG = { code: 'data-unreadable', message: /is the version .* Restore the file|delete the file/ };

const folder = temporaryFolder();
const data = join(folder, 'data');
const elsewhere = join(folder, 'elsewhere');
let store: VersionStore;

const board = (id: bigint, title: string): Records => ({ boards: [{ id, title }] });

beforeEach(async () => {
  store = await openFolderStore(data);
  await store.createOrganization('school', {});
  await publishRecords(store, 'school', WORLD);
  await store.createOrganization('other', {});
  await publishRecords(store, 'other', board(7n, 'Other'));
});
afterEach(async () => {
  await store.close();
  for (const place of [data, elsewhere]) rmSync(place, { recursive: true, force: true });
});

const pathOf = (place: string, name: string, publication: number, suffix = 'duckdb') =>
  join(place, 'organizations', name, 'generations', `${publication}.${suffix}`);

function put(from: readonly [string, string, number], to: readonly [string, string, number]): void {
  for (const suffix of ['duckdb', 'manifest']) copyFileSync(pathOf(...from, suffix), pathOf(...to, suffix));
}

async function query(path: string, ...statements: readonly string[]) {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  try {
    for (const statement of statements.slice(0, -1)) await connection.run(statement);
    return (await connection.runAndReadAll(statements.at(-1)!)).getRows();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

async function findings(): Promise<readonly string[]> {
  const found: string[] = [];
  const onFinding = ({ level, message }: { level: string; message: string }) =>
    void (level === 'damage' && found.push(message));
  await store.check(undefined, onFinding, { onBytes: () => undefined });
  return found;
}

/** Of the version that replaces a damaged current one; absent if there is none. */
async function earlierVersion(): Promise<string | undefined> {
  const dataset = await store.openEarlier('school');
  await dataset?.close();
  return dataset?.version;
}

describe('a copy that has replaced a later version', () => {
  it('is served, followed, restored and checked, whatever its number is where it comes from', async () => {
    const copies = await openFolderStore(elsewhere);
    await store.copyTo(copies, 'school', COPYING);
    await publishRecords(store, 'school', board(20n, 'Second'));
    const original = await copies.original('school');
    await store.adopt([original], { ...COPYING, replace: true });
    original.file?.release();
    const { version } = await store.organization('school');
    assert.match(version!, /^1-/);
    await (await openPublished(store, 'school')).close();
    await publishRecords(store, 'school', board(21n, 'After the copy'));
    assert.equal(await earlierVersion(), version);
    assert.deepEqual(await findings(), []);
    // Its file has the number after the version that it has replaced.
    assert.equal((await store.rollBack('school', 3, NO_WAIT)).published, true);
    assert.deepEqual(await findings(), []);
    await copies.close();
  });
});

describe('an earlier version', () => {
  it('of a different organization is not served, compared or restored, and is reported', async () => {
    await publishRecords(store, 'school', board(20n, 'Second'));
    put([data, 'other', 1], [data, 'school', 1]);
    assert.equal(await earlierVersion(), undefined);
    await assert.rejects(store.difference('school', 1, 2), WRONG);
    await assert.rejects(store.difference('school', 2, 1), WRONG);
    await assert.rejects(store.rollBack('school', 1, NO_WAIT), WRONG);
    const [found, ...others] = await findings();
    assert.match(
      found!,
      /1\.duckdb is the version 1-\w+ of a different organization instead of .* delete the file/,
    );
    assert.deepEqual(others, []);
  });

  it('with its number that is not in the history is not restored, and is reported', async () => {
    cpSync(data, elsewhere, { recursive: true });
    const copies = await openFolderStore(elsewhere);
    await publishRecords(copies, 'school', board(20n, 'Never published here'));
    await copies.close();
    await publishRecords(store, 'school', board(20n, 'Second'));
    await publishRecords(store, 'school', board(21n, 'Third'));
    put([elsewhere, 'school', 2], [data, 'school', 2]);
    await assert.rejects(store.rollBack('school', 2, NO_WAIT), WRONG);
    assert.match((await findings()).join('\n'), /2\.duckdb is the version 2-\w+ instead of 2-/);
  });
});

describe('a version file of 0.2, which has no digest of its organization', () => {
  const FORMER = [
    'ALTER TABLE version DROP COLUMN organization_digest',
    `COMMENT ON TABLE version IS 'Corkboard generation, format 10'`,
    'CHECKPOINT',
  ];
  beforeEach(async () => {
    for (const name of ['school', 'other']) {
      await query(pathOf(data, name, 1), ...FORMER);
      rmSync(pathOf(data, name, 1, 'manifest'));
    }
  });
  const take = (name: string) => copyFileSync(pathOf(data, name, 1), pathOf(data, 'school', 1));

  it('is served, and the next publication adds the digest', async () => {
    await (await openPublished(store, 'school')).close();
    await publishRecords(store, 'school', board(20n, 'Second'));
    const { secret } = await store.organization('school');
    const digests = await query(pathOf(data, 'school', 2), 'SELECT organization_digest FROM version');
    assert.deepEqual(digests, [[organizationDigest(secret)]]);
    assert.match((await earlierVersion())!, /^1-/);
    assert.deepEqual(await findings(), []);
    assert.equal((await store.rollBack('school', 1, NO_WAIT)).published, true);
    const restored = await query(pathOf(data, 'school', 3), 'SELECT organization_digest FROM version');
    assert.deepEqual(restored, digests);
  });

  it('of a different organization is refused by its version', async () => {
    take('other');
    await assert.rejects(openPublished(store, 'school'), WRONG);
    await assert.rejects(publishRecords(store, 'school', board(20n, 'Second')), WRONG);
  });

  it('is not served as an earlier version of an organization with a different id', async () => {
    await publishRecords(store, 'school', board(20n, 'Second'));
    take('other');
    assert.equal(await earlierVersion(), undefined);
    assert.match((await findings()).join('\n'), /1\.duckdb is the version 1-\w+ of a different organization/);
  });
});

describe('the digest of an organization', () => {
  it('is of its secret alone, and never changes', () => {
    const digest = 'f112d322564e788d5b8fea01596649e433fd88e676b4c90144f0c6231cb02339';
    assert.equal(organizationDigest(new Uint8Array(32)), digest);
  });
});
