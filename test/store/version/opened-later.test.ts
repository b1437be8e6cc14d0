/** A small version with a memory image is served without opening its file (decision 81). */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Dataset } from '../../../src/dataset/dataset.ts';
import { imageOf } from '../../../src/dataset/resident/holdings-image.ts';
import { growDataset, loadDataset } from '../../../src/dataset/resident/load.ts';
import { FULL_SCOPE } from '../../../src/domain/scope.ts';
import { openFolderStore } from '../../../src/store/files/open-folder.ts';
import type { VersionStore } from '../../../src/store/files/version-store.ts';
import { idsOf, openPublished, publishRecords, WORLD } from '../../dataset/small-world.ts';
import { until } from '../../server/stand.ts';

const ALL = { scope: FULL_SCOPE, range: {} };
const LMS_NAME = { by: 'lms', property: 'sis', value: 'B-1' } as const;

const LINUX = { skip: process.platform !== 'linux' && 'a version is opened later only on Linux' };

describe('a small version with an image', LINUX, () => {
  let folder: string;
  let store: VersionStore;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corkboard-later-'));
    store = await openFolderStore(folder);
    await store.createOrganization('school', { title: 'Schüle', domain: 'x.example' });
    await publishRecords(store, 'school', WORLD);
    const stored = await openPublished(store, 'school');
    const loaded = await loadDataset(stored, () => undefined);
    await stored.image!.write(imageOf(loaded.held));
    await loaded.close();
  });
  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  const path = () => join(folder, 'organizations', 'school', 'generations', '1.duckdb');

  async function contentOf(dataset: Dataset) {
    const { version, organization, lookups, userPointsKey, policy, counts, lastSequence, kinds } = dataset;
    const instants: number[] = [];
    for await (const batch of dataset.events(ALL)) instants.push(...batch.timestampMs);
    return {
      ...{ version, organization, lookups, userPointsKey, policy, counts, lastSequence, kinds, instants },
      users: await idsOf(dataset.records('users')),
      boards: await idsOf(dataset.records('boards')),
      standings: await dataset.standings({ ...ALL, of: { board: 0 } }),
    };
  }

  it('has the same content as one that is opened at once', async () => {
    const later = await loadDataset(await openPublished(store, 'school'), () => undefined);
    assert.equal(later.isOpen, false);
    const content = await contentOf(later);
    assert.equal(later.isOpen, false);
    await rm(path().replace('duckdb', 'image'));
    const atOnce = await openPublished(store, 'school');
    assert.equal(atOnce.isOpen, true);
    assert.deepEqual(content, await contentOf(await loadDataset(atOnce, () => undefined)));
  });

  it('is opened for what the image does not have', async () => {
    for (const ask of [
      async (dataset: Dataset) => assert.equal(await dataset.findUser(FULL_SCOPE, LMS_NAME), 2),
      async (dataset: Dataset) =>
        assert.equal((await dataset.ledger({ scope: FULL_SCOPE, board: 1, user: 1 })).lines.length > 0, true),
    ]) {
      const dataset = await loadDataset(await openPublished(store, 'school'), () => undefined);
      assert.equal(dataset.isOpen, false);
      await Promise.all([ask(dataset), ask(dataset)]);
      assert.equal(dataset.isOpen, true);
      await dataset.close();
    }
  });

  it('grows without having been opened', async () => {
    const before = await loadDataset(await openPublished(store, 'school'), () => undefined);
    await publishRecords(store, 'school', { users: [{ id: 1n, email: 'new@x.example', name: 'Ann' }] });
    const grown = await growDataset(before, await openPublished(store, 'school'), () => undefined);
    await before.close();
    assert.equal(await grown?.findUser(FULL_SCOPE, LMS_NAME), 2);
    await grown?.close();
  });

  for (const [what, change] of Object.entries({
    deleted: () => rm(path()),
    replaced: async () => {
      await store.createOrganization('other', {});
      await publishRecords(store, 'other', {
        users: [{ id: 9n, email: 'n@x.example', lms: { sis: 'B-1' } }],
      });
      await rename(path().replace('school', 'other'), path());
    },
    'in a folder that was renamed': () =>
      rename(join(folder, 'organizations', 'school'), join(folder, 'organizations', 'moved')),
  })) {
    it(`is opened as it was if its file is ${what} before`, async () => {
      const dataset = await loadDataset(await openPublished(store, 'school'), () => undefined);
      await change();
      assert.equal(dataset.isOpen, false);
      assert.equal(await dataset.findUser(FULL_SCOPE, LMS_NAME), 2);
      await dataset.close();
    });
  }

  it('closes its file, opened or not', async () => {
    const openFiles = async () => (await readdir('/proc/self/fd')).length;
    const before = await openFiles();
    for (const asks of [false, true]) {
      const dataset = await loadDataset(await openPublished(store, 'school'), () => undefined);
      const ledger = () => dataset.ledger({ scope: FULL_SCOPE, board: 1, user: 1 });
      if (asks) await ledger();
      await dataset.close();
      await assert.rejects(ledger);
    }
    // Threads of DuckDB close their files a moment later, also those of the version before.
    await until(async () => (await openFiles()) <= before);
  });

  it('fails as damaged once its damaged file is opened, and not before', async () => {
    await writeFile(path(), 'no longer a version');
    const dataset = await loadDataset(await openPublished(store, 'school'), () => undefined);
    assert.equal((await contentOf(dataset)).instants.length, 5);
    for (let attempt = 0; attempt < 2; attempt++) {
      await assert.rejects(dataset.findUser(FULL_SCOPE, LMS_NAME), { code: 'data-unreadable' });
    }
    await dataset.close();
  });
});
