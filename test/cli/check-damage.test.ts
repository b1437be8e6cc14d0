/**
 * One flipped bit in any file of a data folder: `corkboard check` finds it, and it is never served.
 * In a SQLite file, a few bits hold no data and are not found.
 */
import assert from 'node:assert/strict';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { openSqliteKeyRows } from '../../src/keys/sqlite-keyring.ts';
import { openFolderStore } from '../../src/store/files/open-folder.ts';
import { TABLE_NAMES } from '../../src/store/version-tables.ts';
import { publishRecords, WORLD } from '../dataset/small-world.ts';
import { seed, tellSeed } from '../killing.ts';
import { IS_LONG } from '../long.ts';
import { run, runJson, temporaryFolder } from './command.ts';

const FLIPS = IS_LONG ? 30 : 2;
/** In each file of a version. */
const FLIPS_OF_VERSION = IS_LONG ? 40 : 1;
const folder = temporaryFolder();
const original = join(folder, 'data');
const damaged = join(folder, 'damaged');

before(async () => {
  const store = await openFolderStore(original);
  await store.createOrganization('school', { policy: '{"goal":7}' });
  await publishRecords(store, 'school', WORLD);
  await publishRecords(store, 'school', { users: [{ id: 3n, forgotten: true }] });
  await publishRecords(store, 'school', { boards: [{ id: 10n, title: 'Ten' }] });
  await store.close();
  for (const boards of ['1,2', 'all']) {
    await runJson(['keys', 'create', '--organization', 'school', '--boards', boards, '--data', original]);
  }
});

/** Flips one bit of a file in a copy of the data folder. */
function flip(path: string, at: number): void {
  rmSync(damaged, { recursive: true, force: true });
  cpSync(original, damaged, { recursive: true });
  const bytes = readFileSync(join(damaged, path));
  const byte = Math.floor(at * bytes.length);
  bytes[byte] = bytes[byte]! ^ (1 << (Math.floor(at * bytes.length * 8) % 8));
  writeFileSync(join(damaged, path), bytes);
}

/** Every entry that is read of the SQLite files. Throws if any of it is refused. */
async function readEntries(data: string): Promise<readonly object[]> {
  const store = await openFolderStore(data);
  const keys = openSqliteKeyRows(data);
  try {
    return [await store.organization('school'), ...(await keys.all('school'))];
  } finally {
    await keys.close();
    await store.close();
  }
}

/** Every row of the current version. Throws if any of it is refused. */
async function readVersion(data: string): Promise<unknown> {
  const store = await openFolderStore(data);
  try {
    const version = await store.openRows('school');
    try {
      const rows: unknown[] = [];
      for (const table of TABLE_NAMES) {
        for await (const { count, columns } of version.rows(table)) {
          rows.push([table, count, columns.map(({ values, present }) => [[...values].map(String), present])]);
        }
      }
      return rows;
    } finally {
      await version.close();
    }
  } finally {
    await store.close();
  }
}

/** Numbers from 0 to 1. */
function places(count: number): readonly number[] {
  const numbers = fc.sample(fc.noBias(fc.integer({ min: 0, max: 2 ** 30 - 1 })), { seed, numRuns: count });
  return numbers.map((number) => number / 2 ** 30);
}

describe('a flipped bit', () => {
  it('in any file without rows is found by check', async (t) => {
    tellSeed(t);
    const files = (await readdir(join(original, 'organizations'), { recursive: true })).filter((path) =>
      /(\.duckdb|\.manifest|oldest)$/.test(path),
    );
    assert.equal(files.length, 5);
    const expected = await readVersion(original);
    for (const path of files) {
      for (const at of places(FLIPS_OF_VERSION)) {
        flip(join('organizations', path), at);
        const { code, stdout } = await run(['check', '--data', damaged]);
        assert.equal(code, 1, `${path} at ${at}: ${stdout}`);
        assert.match(stdout, /^Damage: .*(\d\.(duckdb|manifest)|oldest)/m);
        const read = await readVersion(damaged).catch(() => undefined);
        if (read !== undefined) assert.deepEqual(read, expected, `${path} at ${at} is read`);
      }
    }
  });

  it('in a SQLite file is found by check or changes nothing, and no altered entry is read', async (t) => {
    tellSeed(t);
    const expected = await readEntries(original);
    let found = 0;
    for (const path of ['catalog.db', 'keys.db']) {
      for (const at of places(FLIPS * 6)) {
        flip(path, at);
        const read = await readEntries(damaged).catch(() => undefined);
        flip(path, at);
        const { code } = await run(['check', '--data', damaged]);
        if (code === 1) found += 1;
        else assert.deepEqual(read, expected, `${path} at ${at} is not found`);
        // Damage to the structure of a file can hide an entry, which is then refused as unknown.
        const altered = read?.filter((entry) => !expected.some((one) => isDeepStrictEqual(one, entry)));
        assert.deepEqual(altered ?? [], [], `${path} at ${at} is read`);
      }
    }
    t.diagnostic(`${found} of ${FLIPS * 12} were found`);
    // About one bit in thirty is in an unused part of a page.
    assert.ok(found >= FLIPS * 9);
  });
});
