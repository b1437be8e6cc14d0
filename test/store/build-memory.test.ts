/** The memory in which a version is built, and the error when it does not suffice. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { isMemoryShortage } from '../../src/cli/process/memory-shortage.ts';
import {
  buildMemory,
  defaultBuildBytes,
  LEAST_BUILD_BYTES,
  leastBuildBytes,
  refuseMemoryShortage,
} from '../../src/store/build-memory.ts';
import { openSqliteCatalog } from '../../src/store/catalog/sqlite-catalog.ts';
import { LocalFiles } from '../../src/store/files/local-files.ts';
import { VersionStore } from '../../src/store/files/version-store.ts';
import { Database, runRows, setMemory } from '../../src/store/version/database.ts';
import { placed, publishRecords, WORLD } from '../dataset/small-world.ts';

const folder = mkdtempSync(join(tmpdir(), 'corkboard-memory-'));
after(() => rmSync(folder, { recursive: true }));

it('the default leaves a part of the machine, and suffices for building', () => {
  assert.ok(defaultBuildBytes() >= LEAST_BUILD_BYTES);
  assert.ok(defaultBuildBytes() <= Math.max(totalmem() / 2, LEAST_BUILD_BYTES));
  assert.equal(defaultBuildBytes(2 ** 30), 361_870_912);
  assert.equal(defaultBuildBytes(2 ** 29), LEAST_BUILD_BYTES);
});

it('a hundred million records are refused where they have failed, and accepted where they have not', () => {
  const records = 106_000_000;
  assert.throws(() => refuseMemoryShortage(records, defaultBuildBytes(2 ** 30)), {
    code: 'import-refused',
    message: /^The import has more than 60,\d+,\d+ records, which is the most for 0\.4 GB of memory/,
  });
  refuseMemoryShortage(records, defaultBuildBytes(2 ** 31));
  refuseMemoryShortage(42_400_000, LEAST_BUILD_BYTES);
});

it('more records than the memory suffices for are refused while they are staged', async (t) => {
  const data = join(folder, 'data');
  const catalog = openSqliteCatalog(data);
  const memory = { ...buildMemory(), limitBytes: leastBuildBytes(2) };
  const store = new VersionStore(catalog, new LocalFiles(data, catalog), memory);
  t.after(() => store.close());
  await store.createOrganization('school', {});
  const [first, second, third] = WORLD.users!;
  await publishRecords(store, 'school', { users: [first!, second!] });
  const publication = await store.beginPublication('school', { waitMs: 0 });
  await publication.stage('users', placed([first!, second!]));
  const more = publication.stage('users', placed([third!]));
  await assert.rejects(more, { code: 'import-refused', message: /has more than 2 records/ });
  await publication.discard();
  assert.equal((await store.versions('school')).length, 1);
});

it('the memory grows with the number of staged records, up to the limit', () => {
  const ample = buildMemory(undefined, 64e9);
  assert.equal(ample.bytesFor(0), ample.bytesFor(1_000_000));
  assert.ok(ample.bytesFor(100_000_000) > ample.bytesFor(1_000_000));
  assert.equal(buildMemory(undefined, 1e9).bytesFor(100_000_000), 1e9);
  assert.equal(buildMemory(undefined, 300e6).bytesFor(0), 300e6);
});

it('a given memory is taken as it is, whatever the number of records', () => {
  for (const bytes of [300e6, 64e9]) {
    const { limitBytes, bytesFor } = buildMemory(bytes, 1e9);
    assert.deepEqual([limitBytes, bytesFor(0), bytesFor(100_000_000)], [bytes, bytes, bytes]);
  }
});

it('a statement that exceeds its memory is recognized, and succeeds with more', async () => {
  const database = await Database.open(join(folder, 'small.duckdb'), {
    ...{ readOnly: false, memoryBytes: 8e6, spillFolder: join(folder, 'spilled') },
  });
  const connection = await database.connect();
  // A single list is never written to disk.
  const demanding = () => runRows(connection, 'SELECT len(list(range)) FROM range(4_000_000)');
  await assert.rejects(demanding, isMemoryShortage);
  await setMemory(connection, 512e6);
  assert.deepEqual(await demanding(), [[4_000_000n]]);
  connection.closeSync();
  database.close();
});

it('a lack of memory for staged records is recognized', async () => {
  const options = { memoryBytes: 30e6, spillFolder: '' };
  const database = await Database.open(join(folder, 'staged.duckdb'), { readOnly: false, ...options });
  const connection = await database.connect();
  await connection.run('CREATE TEMP TABLE staged (text VARCHAR)');
  const appender = await connection.createAppender('staged');
  assert.throws(() => {
    for (let row = 0; row < 50_000; row += 1) {
      appender.appendVarchar(String(row).padEnd(1_000));
      appender.endRow();
      if (row % 5_000 === 0) appender.flushSync();
    }
  }, isMemoryShortage);
  connection.closeSync();
  database.close();
});

it('other errors are not taken for a lack of memory', () => {
  assert.equal(isMemoryShortage(new Error('IO Error: No space left on device')), false);
  assert.equal(isMemoryShortage(new Error('Failed to append: IO Error: No space left on device')), false);
  assert.equal(isMemoryShortage('Out of Memory Error: '), false);
  assert.equal(isMemoryShortage(new Error('wrapped', { cause: new Error('Out of Memory Error: x') })), true);
});
