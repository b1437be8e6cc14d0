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
  refuseMemoryShortage,
} from '../../src/store/build-memory.ts';
import { Database, runRows, setMemory } from '../../src/store/version/database.ts';

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
  for (const memory of [2 ** 30, 2 ** 31]) {
    const refused = {
      code: 'import-refused',
      message: /^106,000,000 records need at least 1\.3 GB .* are allowed/,
    };
    assert.throws(() => refuseMemoryShortage(records, defaultBuildBytes(memory)), refused);
  }
  refuseMemoryShortage(records, defaultBuildBytes(2 ** 32));
  refuseMemoryShortage(10_600_000, defaultBuildBytes(2 ** 30));
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

it('other errors are not taken for a lack of memory', () => {
  assert.equal(isMemoryShortage(new Error('IO Error: No space left on device')), false);
  assert.equal(isMemoryShortage('Out of Memory Error: '), false);
  assert.equal(isMemoryShortage(new Error('wrapped', { cause: new Error('Out of Memory Error: x') })), true);
});
