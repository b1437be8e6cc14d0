/** The embedded store: the contract of stores, and its files. */
import assert from 'node:assert/strict';
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import { describeMerging } from './merging-contract.ts';
import { describePublication } from './publication-contract.ts';
import { describeScopes } from './scope-contract.ts';
import { openPublished, publishRecords, WORLD } from './small-world.ts';
import { describeStore } from './store-contract.ts';

const folders: string[] = [];
async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'corkboard-duckdb-'));
  folders.push(folder);
  return folder;
}
after(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

const openStore = async () => await openFolderStore(await newFolder());
describeStore('DuckDB', openStore);
describeScopes('DuckDB', openStore);
describePublication('DuckDB', openStore);
describeMerging('DuckDB', openStore);

const ACME = join('organizations', 'acme', 'generations');

describe('the version files of the embedded store', () => {
  let template: string;
  before(async () => {
    template = await newFolder();
    const store = await openFolderStore(template);
    await store.createOrganization('acme', {});
    assert.equal(await store.openEarlier?.('acme'), undefined);
    for (const title of ['One', 'Two', 'Three'])
      await publishRecords(store, 'acme', title === 'One' ? WORLD : {}, { title });
    await store.close();
  });

  /** A data folder with three versions. */
  async function newCopy(): Promise<string> {
    const folder = await newFolder();
    await cp(template, folder, { recursive: true });
    return folder;
  }

  it('are the last three versions, without leftovers of publications that did not complete', async () => {
    const folder = await newCopy();
    const store = await openFolderStore(folder);
    const generations = join(folder, ACME);
    const files = async () => (await readdir(generations)).sort();
    const versions = (...names: number[]) => names.flatMap((n) => [`${n}.duckdb`, `${n}.manifest`]);
    assert.deepEqual(await files(), versions(1, 2, 3));
    await writeFile(join(generations, 'next.building'), 'left by a process that was killed');
    await writeFile(join(generations, '9.duckdb'), 'settled, but never put in force');
    await publishRecords(store, 'acme', {}, { title: 'Four' });
    assert.deepEqual(await files(), versions(2, 3, 4));
    await store.close();
  });

  it('are found by the next process', async () => {
    const store = await openFolderStore(await newCopy());
    const dataset = await openPublished(store, 'acme');
    assert.equal(dataset.counts.events, 5);
    assert.equal(dataset.organization.title, 'Three');
    await dataset.close();
    await store.close();
  });

  it('include the previous version, the latest one that can be opened', async () => {
    const folder = await newCopy();
    const store = await openFolderStore(folder);
    const titleOfEarlier = async () => {
      const dataset = await store.openEarlier?.('acme');
      await dataset?.close();
      return dataset?.organization.title;
    };
    assert.equal(await titleOfEarlier(), 'Two');
    await writeFile(join(folder, ACME, '2.duckdb'), 'damaged as well');
    assert.equal(await titleOfEarlier(), 'One');
    await store.close();
  });

  it('of an earlier organization are not versions of a copy with the same name', async () => {
    const to = await newFolder();
    const earlier = await openFolderStore(to);
    await earlier.createOrganization('acme', {});
    await publishRecords(earlier, 'acme', WORLD, { title: 'Somebody else' });
    await earlier.close();
    for (const suffix of ['', '-wal', '-shm']) await rm(join(to, `catalog.db${suffix}`), { force: true });
    const [originals, store] = [await openFolderStore(await newCopy()), await openFolderStore(to)];
    await originals.copyTo(store, 'acme', { waitMs: 0, onBytes: () => undefined });
    await originals.close();
    assert.equal(await store.openEarlier?.('acme'), undefined);
    await store.close();
  });
});
