/** The files of a data folder: the order in which a version becomes current, and memory images. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { openSqliteCatalog } from '../../../src/store/catalog/sqlite-catalog.ts';
import { LocalFiles } from '../../../src/store/files/local-files.ts';
import { openFolderStore } from '../../../src/store/files/open-folder.ts';
import { VersionStore } from '../../../src/store/files/version-store.ts';
import { openFromImage } from '../../dataset/imaged.ts';
import { publishRecords, WORLD } from '../../dataset/small-world.ts';

it('a version file has its final name before the catalog makes the version current', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'corkboard-local-files-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const catalog = openSqliteCatalog(folder);
  const publish = catalog.publish.bind(catalog);
  const published: number[] = [];
  t.mock.method(catalog, 'publish', async (...args: Parameters<typeof publish>) => {
    const [name, { publication }] = args;
    const file = join(folder, 'organizations', name, 'generations', `${publication}.duckdb`);
    assert.ok(existsSync(file), `${publication} has no file`);
    published.push(publication);
    await publish(...args);
  });
  const store = new VersionStore(catalog, new LocalFiles(folder, catalog));
  t.after(() => store.close());
  await store.createOrganization('school', {});
  await publishRecords(store, 'school', WORLD);
  await publishRecords(store, 'school', { boards: [{ id: 7n, title: 'Changed' }] });
  assert.deepEqual(published, [1, 2]);
});

it('a version has an image until a later one has, or it is deleted, and check accepts it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'corkboard-local-files-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const store = await openFolderStore(folder);
  t.after(() => store.close());
  const versions = join(folder, 'organizations/school/generations');
  const images = () => readdirSync(versions).filter((name) => name.includes('image'));
  const findings = async () => {
    const found: string[] = [];
    await store.check(['school'], ({ message }) => found.push(message), { onBytes: () => {} });
    return found;
  };
  await store.createOrganization('school', {});
  await publishRecords(store, 'school', WORLD);
  await (await openFromImage(store, 'school')).close();
  // A server that is writing it, or was killed meanwhile.
  writeFileSync(join(versions, '1.image.0.tmp'), '');
  assert.deepEqual(images(), ['1.image', '1.image.0.tmp']);
  assert.deepEqual(await findings(), []);
  const publishTitle = (title: string) => publishRecords(store, 'school', { boards: [{ id: 7n, title }] });
  await publishTitle('Changed');
  assert.deepEqual(images(), ['1.image', '1.image.0.tmp']);
  await (await openFromImage(store, 'school')).close();
  assert.deepEqual(images(), ['2.image']);
  assert.deepEqual(await findings(), []);
  writeFileSync(join(versions, '2.image.fragments'), '');
  for (const title of ['Third', 'Fourth']) await publishTitle(title);
  assert.deepEqual(images(), ['2.image', '2.image.fragments']);
  await publishTitle('Fifth');
  assert.deepEqual(images(), []);
  assert.deepEqual(await findings(), []);
});
