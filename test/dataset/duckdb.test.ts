/** The embedded store: the contract of stores, and its files. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import { describePublication } from './publication-contract.ts';
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

describeStore('DuckDB', async () => await openFolderStore(await newFolder()));
describePublication('DuckDB', async () => await openFolderStore(await newFolder()));

describe('the version files of the embedded store', () => {
  it('are the last three versions, without leftovers of publications that did not complete', async () => {
    const folder = await newFolder();
    const store = await openFolderStore(folder);
    await store.createOrganization('acme', {});
    const generations = join(folder, 'organizations', 'acme', 'generations');
    for (let version = 1; version <= 5; version += 1) {
      await publishRecords(store, 'acme', version === 1 ? WORLD : {}, { title: `Version ${version}` });
    }
    await writeFile(join(generations, 'next.building'), 'left by a process that was killed');
    await writeFile(join(generations, '9.duckdb'), 'settled, but never put in force');
    await publishRecords(store, 'acme', {}, { title: 'Version 6' });
    assert.deepEqual((await readdir(generations)).sort(), ['4.duckdb', '5.duckdb', '6.duckdb']);
    await store.close();
  });

  it('are found by the next process', async () => {
    const folder = await newFolder();
    const writing = await openFolderStore(folder);
    await writing.createOrganization('acme', {});
    await publishRecords(writing, 'acme', WORLD);
    await writing.close();
    const reading = await openFolderStore(folder);
    const dataset = await openPublished(reading, 'acme');
    assert.equal(dataset.counts.events, 5);
    await dataset.close();
    await reading.close();
  });

  it('include the previous version, the latest one that can be opened', async () => {
    const folder = await newFolder();
    const store = await openFolderStore(folder);
    await store.createOrganization('acme', {});
    assert.equal(await store.openEarlier?.('acme'), undefined);
    for (const title of ['One', 'Two', 'Three']) await publishRecords(store, 'acme', WORLD, { title });
    const titleOfEarlier = async () => {
      const dataset = await store.openEarlier?.('acme');
      await dataset?.close();
      return dataset?.organization.title;
    };
    assert.equal(await titleOfEarlier(), 'Two');
    await writeFile(join(folder, 'organizations', 'acme', 'generations', '2.duckdb'), 'damaged as well');
    assert.equal(await titleOfEarlier(), 'One');
    await store.close();
  });

  it('of an earlier organization are not versions of a copy with the same name', async () => {
    const [from, to] = [await newFolder(), await newFolder()];
    for (const [folder, publications] of [
      [from, ['One', 'Two', 'Three']],
      [to, ['Somebody else']],
    ] as const) {
      const store = await openFolderStore(folder);
      await store.createOrganization('acme', {});
      for (const title of publications) await publishRecords(store, 'acme', WORLD, { title });
      await store.close();
    }
    for (const suffix of ['', '-wal', '-shm']) await rm(join(to, `catalog.db${suffix}`), { force: true });
    const [originals, store] = [await openFolderStore(from), await openFolderStore(to)];
    await originals.copyTo(store, 'acme', { waitMs: 0, onBytes: () => undefined });
    await originals.close();
    assert.equal(await store.openEarlier?.('acme'), undefined);
    await store.close();
  });
});
