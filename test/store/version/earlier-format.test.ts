/**
 * A version file that an earlier release of Corkboard has written is read, copied, and brought up
 * to date by a publication.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { FULL_SCOPE } from '../../../src/domain/scope.ts';
import { LATER_USER_CLOCKS, type Unseen } from '../../../src/domain/user-clocks.ts';
import { openFolderStore } from '../../../src/store/files/open-folder.ts';
import type { VersionStore } from '../../../src/store/files/version-store.ts';
import { idsOf, openPublished, publishRecords, WORLD } from '../../dataset/small-world.ts';

const ALL = { scope: FULL_SCOPE, range: {} };
const BOTH: Unseen = { email: true, name: true };

/** Removes everything that later formats have added. */
async function makeEarlier(file: string, format: 3 | 4 | 5): Promise<void> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  await connection.run(`DELETE FROM standings WHERE (board, person) NOT IN
    (SELECT board, person FROM board_people WHERE present)`);
  for (const table of [
    'deleted_events',
    'publications',
    'version_changes',
    'changed_pairs',
    'changed_earnings',
  ])
    await connection.run(`DROP TABLE ${table}`);
  await connection.run('ALTER TABLE events DROP COLUMN body');
  await connection.run('ALTER TABLE version DROP COLUMN organization_digest');
  if (format < 5) await connection.run('ALTER TABLE version DROP COLUMN user_points_key');
  if (format === 3) {
    for (const clock of LATER_USER_CLOCKS) await connection.run(`ALTER TABLE users DROP COLUMN ${clock}`);
  }
  await connection.run(`COMMENT ON TABLE version IS 'Corkboard generation, format ${format}'`);
  connection.closeSync();
  instance.closeSync();
}

describe('a version file of format 3', () => {
  let folder: string;
  let store: VersionStore;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corkboard-earlier-'));
    store = await openFolderStore(folder);
    await store.createOrganization('school', {});
    await publishRecords(store, 'school', WORLD);
    await publishRecords(store, 'school', { users: [{ id: 1n, email: 'ann2@x.example', name: 'Ann Bee' }] });
    await makeEarlier(join(folder, 'organizations', 'school', 'generations', '2.duckdb'), 3);
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  /** Ids of the users that changed for a key that does not see the `unseen` fields. */
  async function changedSince(sequence: number, unseen?: Unseen): Promise<bigint[]> {
    const dataset = await openPublished(store, 'school');
    const ids = await idsOf(dataset.records('users'));
    const { people, ...revisions } = await dataset.revisions(sequence, unseen);
    // Read directly from the file, events are selected by the same sequence.
    const since = { people, ...revisions };
    let events = 0;
    for await (const batch of dataset.events({ ...ALL, since })) events += batch.count;
    assert.equal(events > 0, people.length > 0);
    await dataset.close();
    return Array.from(people, (index) => ids[index]!);
  }

  it('is read, and every change of a user counts for every key', async () => {
    assert.deepEqual(await changedSince(5), [1n]);
    assert.deepEqual(await changedSince(5, BOTH), [1n]);
  });

  it('is exported with the field sequences that it lacks', async () => {
    const version = await store.openRows('school');
    let rows = 0;
    for await (const { count, columns } of version.rows('users')) {
      rows += count;
      const [revised, ...clocks] = columns.slice(-1 - LATER_USER_CLOCKS.length);
      for (const clock of clocks) assert.deepEqual(clock, revised);
    }
    assert.equal(rows, 5);
    let events = 0;
    for await (const { count, columns } of version.rows('events')) {
      events += count;
      assert.ok(columns.at(-1)!.present!.every((present) => present === 0));
    }
    assert.deepEqual([events, version.hasBodies], [5, false]);
    await version.close();
  });

  it('is brought up to date by the next publication, after which changes are told apart by field', async () => {
    await publishRecords(store, 'school', { users: [{ id: 1n, email: 'ann3@x.example', name: 'Ann Bee' }] });
    assert.deepEqual(await changedSince(6), [1n]);
    assert.deepEqual(await changedSince(6, BOTH), []);
    assert.deepEqual(await changedSince(5, BOTH), [1n]);
    assert.deepEqual(await changedSince(6, { email: false, name: true }), [1n]);
  });
});

describe('a version file of format 4', () => {
  it('is read with the points maps of users under their ids, and is brought up to date', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'corkboard-earlier-'));
    t.after(() => rm(folder, { recursive: true }));
    const store = await openFolderStore(folder);
    t.after(() => store.close());
    await store.createOrganization('school', {});
    await publishRecords(store, 'school', WORLD);
    await makeEarlier(join(folder, 'organizations', 'school', 'generations', '1.duckdb'), 4);
    const before = await openPublished(store, 'school');
    assert.equal(before.userPointsKey, 'user-id');
    await before.close();
    await publishRecords(store, 'school', {}, { userPointsKey: 'board-id' });
    const after = await openPublished(store, 'school');
    assert.deepEqual([after.userPointsKey, after.policy], ['board-id', '']);
    await after.close();
  });
});

/** Awards points to Eve, who owns pins and never acts. */
const PAYING = JSON.stringify({ rules: [{ on: 'pin.visited', to: 'owner', points: 6 }] });

describe('a version file of format 5', () => {
  let folder: string;
  let store: VersionStore;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corkboard-earlier-'));
    store = await openFolderStore(folder);
    await store.createOrganization('school', { policy: PAYING });
    await publishRecords(store, 'school', WORLD);
    await makeEarlier(join(folder, 'organizations', 'school', 'generations', '1.duckdb'), 5);
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  async function pointsOnBoard7(read: VersionStore): Promise<readonly string[]> {
    const dataset = await openPublished(read, 'school');
    const users = await idsOf(dataset.records('users'));
    const board = await dataset.findBoard(FULL_SCOPE, { by: 'id', value: 7n });
    const { user, totalPoints } = await dataset.standings({ ...ALL, of: { board: board! } });
    await dataset.close();
    return Array.from(user, (index, row) => `${users[index]}: ${totalPoints[row]}`);
  }

  it('is read, without users in points maps who have awards and never acted', async () => {
    assert.deepEqual(await pointsOnBoard7(store), ['1: 0', '4: 0']);
  });

  it('is complete after any publication', async () => {
    await publishRecords(store, 'school', { users: [{ id: 3n, email: 'una2@x.example' }] });
    assert.deepEqual(await pointsOnBoard7(store), ['1: 0', '4: 0', '5: 6']);
  });
});

describe('two version files of format 5', () => {
  it('have a history, are compared, and the first one is restored', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'corkboard-earlier-'));
    t.after(() => rm(folder, { recursive: true }));
    const store = await openFolderStore(folder);
    t.after(() => store.close());
    await store.createOrganization('school', {});
    await publishRecords(store, 'school', WORLD);
    await publishRecords(store, 'school', { users: [{ id: 1n, email: 'ann2@x.example', name: 'Ann Bee' }] });
    for (const number of [1, 2])
      await makeEarlier(join(folder, 'organizations', 'school', 'generations', `${number}.duckdb`), 5);
    const history = await store.versions('school');
    assert.deepEqual(
      history.map(({ publication, cause, isKept }) => [publication, cause, isKept]),
      [
        [2, undefined, true],
        [1, undefined, true],
      ],
    );
    const { changes } = await store.difference('school', 1, 2);
    assert.deepEqual(changes.users, { added: 0, changed: 1, unchanged: 4, deleted: 0 });
    const { published, changes: back } = await store.rollBack('school', 1, { waitMs: 0 });
    assert.deepEqual([published, back.users.changed], [true, 1]);
    assert.equal((await store.versions('school')).length, 3);
    const { changes: none } = await store.difference('school', 1, 3);
    assert.equal(none.users.changed, 0);
  });
});
