/** The order of the steps that make a version of a data folder current. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { openSqliteCatalog } from '../../../src/store/catalog/sqlite-catalog.ts';
import { LocalFiles } from '../../../src/store/files/local-files.ts';
import { VersionStore } from '../../../src/store/files/version-store.ts';
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
