/** `corkboard check`: each kind of damage of a data folder and a database. */
import assert from 'node:assert/strict';
import { appendFileSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { before, describe, it } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { Client } from 'pg';
import { keepReserve, readReserve } from '../../src/keys/disk-reserve.ts';
import { openSqliteKeyring } from '../../src/keys/sqlite-keyring.ts';
import { digestFile } from '../../src/system/file-digest.ts';
import { isLogDamaged } from '../../src/system/write-ahead-log.ts';
import { zoneData } from '../../src/system/zones.ts';
import { run, runJson, temporaryFolder } from './command.ts';
import { copyPlace, newPlace, type Place, responsesOf } from './places.ts';
import { writeSmallBundle } from './small-bundle.ts';

const folder = temporaryFolder();

async function newFilledPlace(kind: 'folder' | 'database'): Promise<Place> {
  const place = await newPlace(kind, folder);
  await runJson([
    'import',
    writeSmallBundle(join(folder, 'bundle')),
    '--organization',
    'school',
    ...place.words,
  ]);
  return place;
}

let whole: Place;
before(async () => {
  whole = await newFilledPlace('folder');
});

/** A copy of the data folder, which is filled once. */
const filledCopy = () => copyPlace(whole, folder);

async function assertDamage({ words }: Place, ...expected: readonly RegExp[]): Promise<void> {
  const { code, stdout } = await run(['check', ...words]);
  assert.equal(code, 1, stdout);
  for (const pattern of expected) assert.match(stdout, pattern);
}

const generations = ({ options }: Place) => join(options.data, 'organizations/school/generations');

describe('check of a data folder', () => {
  it('finds no damage in one that is in order, with one JSON object', async () => {
    const { words } = whole;
    const rules = zoneData();
    const expected = { ok: true, organizations: ['school'], findings: [], zoneData: rules };
    assert.deepEqual(await runJson(['check', ...words]), expected);
    assert.deepEqual(await runJson(['check', '--organization', 'school', ...words]), expected);
    const { stdout } = await run(['check', ...words]);
    assert.equal(stdout, `Time zone rules: ${rules}.\nChecked 1 organization and found no damage.\n`);
    const unknown = await run(['check', '--organization', 'none', ...words]);
    assert.deepEqual([unknown.code, /There is no organization "none"/.test(unknown.stderr)], [1, true]);
    assert.equal((await run(['check', '--data', join(folder, 'missing')])).code, 1);
  });

  it('finds a missing version, leftovers of killed imports, and folders of no organization', async () => {
    const place = await filledCopy();
    writeFileSync(join(generations(place), 'next.building'), 'x');
    mkdirSync(join(place.options.data, 'organizations/stranger'));
    await assertDamage(place, /No version needs .*next\.building/, /stranger belongs to no organization/);
    rmSync(join(generations(place), '1.duckdb'));
    await assertDamage(place, /1\.duckdb cannot be read .*: corkboard restore BACKUP --replace/);
  });

  it('finds a version that is a different one, and one that never became current', async () => {
    const place = await filledCopy();
    const other = await newFilledPlace('folder');
    for (const suffix of ['duckdb', 'manifest']) {
      copyFileSync(join(generations(other), `1.${suffix}`), join(generations(place), `1.${suffix}`));
      copyFileSync(join(generations(other), `1.${suffix}`), join(generations(other), `2.${suffix}`));
    }
    await assertDamage(place, /1\.duckdb is the version 1-\w+ of a different organization instead of 1-/);
    await assertDamage(other, /No version needs .*2\.duckdb/);
  });

  it('finds tables that do not agree', async () => {
    const place = await filledCopy();
    const instance = await DuckDBInstance.create(join(generations(place), '1.duckdb'));
    const connection = await instance.connect();
    await connection.run('DELETE FROM board_people; UPDATE events SET actor = 99 WHERE sequence = 1');
    connection.closeSync();
    instance.closeSync();
    await assertDamage(
      place,
      /is not what was published/,
      /events refer by actor to missing users \(1\)/,
      /board_events are not the events/,
      /board_people lack users/,
    );
  });

  it('finds a damaged reserve of the keys, which the next server writes again', async () => {
    const place = await filledCopy();
    keepReserve(place.options.data);
    const path = join(place.options.data, '.keys-reserve');
    const bytes = readFileSync(path);
    bytes[1000] = bytes[1000]! ^ 1;
    writeFileSync(path, bytes);
    await assertDamage(place, /\.keys-reserve is damaged/);
    keepReserve(place.options.data);
    assert.equal(readReserve(place.options.data), 'whole');
  });

  it('finds a recorded digest that is another one, or none', async () => {
    const place = await filledCopy();
    const path = join(generations(place), '1.sha256');
    const manifest = join(generations(place), '1.manifest');
    const damaged = readFileSync(manifest);
    damaged[20] = damaged[20]! ^ 1;
    writeFileSync(manifest, damaged);
    await assertDamage(place, /1\.manifest is damaged/);
    // As an earlier release has recorded it.
    rmSync(manifest);
    const { sha256 } = await digestFile(join(generations(place), '1.duckdb'));
    writeFileSync(path, `${sha256}  1.duckdb\n`);
    assert.equal((await runJson(['check', ...place.words])).findings.length, 0);
    writeFileSync(path, `${'0'.repeat(64)}  1.duckdb\n`);
    await assertDamage(place, /1\.duckdb is not what was published/);
    writeFileSync(path, `${'0'.repeat(63)}  1.duckdb\n`);
    await assertDamage(place, /1\.sha256 is damaged/);
  });

  it('finds that digests are missing', async () => {
    const place = await filledCopy();
    rmSync(join(generations(place), '1.manifest'));
    await assertDamage(place, /The digests of .*1\.duckdb are missing\. Restore the file from a backup/);
  });
});

describe('a damaged row', () => {
  /** Changes a row as a disk would, without its triggers. */
  function damage(path: string, sql: string): void {
    const database = new DatabaseSync(path);
    database.function('row_seal', { varargs: true }, () => null);
    database.exec(sql);
    database.close();
  }

  it('of a key is refused, found by check, and harmless once it is revoked', async () => {
    const place = await filledCopy();
    const create = ['keys', 'create', '--organization', 'school', ...place.words];
    const { key, id } = await runJson([...create, '--boards', '7']);
    const { key: sound } = await runJson(create);
    damage(
      join(place.options.data, 'keys.db'),
      `UPDATE keys SET scope = replace(scope, '"7"', '"5"'), seal = x'00' WHERE id = '${id}'`,
    );
    await assertDamage(place, new RegExp(`The key ${id} in keys\\.db is damaged\\. Revoke it`));
    const seen = await responsesOf(place, [key, sound]);
    assert.match(seen[0]!, / 503 .*"data-unreadable"/);
    assert.match(seen.at(-1)!, / 200 /);
    assert.equal((await run(['keys', 'list', ...place.words])).code, 1);
    assert.equal((await run(['keys', 'configure', id, '--boards', '1', ...place.words])).code, 1);
    assert.equal((await run(['keys', 'revoke', id, ...place.words])).code, 0);
    assert.equal((await run(['check', ...place.words])).code, 0);
  });

  it('of the catalog is refused and replaced by a restore; other organizations are served', async () => {
    const place = await filledCopy();
    const bundle = join(folder, 'bundle');
    await runJson(['import', bundle, '--organization', 'other', ...place.words]);
    const keyOf = async (organization: string) =>
      (await runJson(['keys', 'create', '--organization', organization, ...place.words])).key;
    const keys = [await keyOf('school'), await keyOf('other')];
    const expected = await responsesOf(place, keys);
    const backup = join(folder, 'backup');
    await runJson(['backup', backup, ...place.words]);
    damage(
      join(place.options.data, 'catalog.db'),
      "UPDATE organizations SET title = 'Schoom', seal = x'00' WHERE name = 'school'",
    );
    await assertDamage(place, /The entry of school in catalog\.db is damaged/);
    const seen = await responsesOf(place, keys);
    assert.match(seen[0]!, / 503 .*"data-unreadable"/);
    assert.deepEqual(seen.slice(seen.length / 2), expected.slice(seen.length / 2));
    assert.equal((await run(['organizations', 'list', ...place.words])).code, 1);
    await runJson(['restore', backup, '--replace', '--organization', 'school', ...place.words]);
    assert.deepEqual(await responsesOf(place, keys), expected);
    assert.equal((await run(['check', ...place.words])).code, 0);
  });
});

describe('the log of a SQLite file', () => {
  it('is damaged if any bit of its frames has changed, and in order while it is written', async () => {
    const data = join(folder, 'logged');
    const keyring = openSqliteKeyring(data);
    const scope = { boards: 'all', users: 'all' } as const;
    const redact = { email: false, name: false, id: false };
    for (const label of ['one', 'two']) {
      await keyring.create({ organization: 'school', label, scope, redact }, undefined);
      assert.equal(await isLogDamaged(join(data, 'keys.db-wal')), false);
    }
    const bytes = readFileSync(join(data, 'keys.db-wal'));
    await keyring.close();
    const path = join(folder, 'changed-wal');
    // In the header, in the header of the first and the last frame, and in their pages.
    for (const at of [0, 9, 16, 31, 32, 40, 44, 52, 60, 2_000, bytes.length - 4_100, bytes.length - 1]) {
      const changed = Buffer.from(bytes);
      changed[at] = changed[at]! ^ 2;
      writeFileSync(path, changed);
      assert.equal(await isLogDamaged(path), true, `at ${at}`);
    }
    writeFileSync(path, bytes);
    assert.equal(await isLogDamaged(path), false);
    appendFileSync(path, bytes.subarray(-2_000));
    assert.equal(await isLogDamaged(path), false, 'a frame that is not complete was never committed');
  });
});

describe('check of a database', () => {
  let place: Place;
  before(async () => {
    place = await newFilledPlace('database');
  });

  async function withClient<T>(use: (client: Client) => Promise<T>, of = place): Promise<T> {
    const client = new Client(of.options.database);
    await client.connect();
    try {
      return await use(client);
    } finally {
      await client.end();
    }
  }

  it('finds no damage in one that is in order, and says if the database has no checksums', async () => {
    const { ok, findings } = await runJson(['check', ...place.words]);
    assert.equal(ok, true);
    for (const { message } of findings) assert.match(message, /no data checksums/);
  });

  for (const damage of ['UPDATE chunks SET bytes = $1', 'DELETE FROM chunks WHERE bytes <> $1']) {
    it(`is clean after a restore over damage (${damage}), and prefetch names what it cannot fetch`, async () => {
      const damaged = await newFilledPlace('database');
      const backup = join(folder, `backup-${damage.slice(0, 6)}`);
      assert.equal((await run(['backup', backup, ...damaged.words])).code, 0);
      await withClient(async (client) => {
        await client.query('SET search_path TO corkboard');
        await client.query(damage, [Buffer.from('x')]);
      }, damaged);
      const fresh = ['--cache', join(folder, `cache-${damage.slice(0, 6)}`)];
      const fetched = await run(['prefetch', '--json', ...damaged.words, ...fresh]);
      assert.match(fetched.stderr, /school was not fetched\. A stored chunk .* "corkboard check" says/);
      assert.deepEqual([fetched.code, JSON.parse(fetched.stdout)], [1, []]);
      await assertDamage(
        damaged,
        /Stored chunks are (?:damaged|missing): \d+ .*corkboard restore BACKUP --replace/,
      );
      assert.equal((await run(['restore', backup, '--replace', ...damaged.words])).code, 0);
      assert.equal((await runJson(['check', ...damaged.words, ...fresh])).ok, true);
    });
  }

  it('finds damaged, missing and left-over chunks, and a missing manifest', async () => {
    await withClient(async (client) => {
      await client.query('SET search_path TO corkboard');
      const { rows } = await client.query('SELECT name, bytes FROM chunks ORDER BY name LIMIT 1');
      const [{ name, bytes }] = rows;
      const set = (value: Buffer) =>
        client.query('UPDATE chunks SET bytes = $1 WHERE name = $2', [value, name]);
      const changed = Buffer.from(bytes);
      changed[100] = changed[100]! ^ 1;
      await set(changed);
      await assertDamage(place, new RegExp(`Stored chunks are damaged: 1 \\(${name}\\)`));
      await set(bytes);
      await client.query('UPDATE chunks SET name = $1 WHERE name = $2', [name.replace('-', '-0'), name]);
      await assertDamage(place, new RegExp(`Stored chunks are missing: 1 \\(${name}\\)`));
      await client.query('UPDATE chunks SET name = $1 WHERE name = $2', [name, name.replace('-', '-0')]);
      const spare = name.replace(/[^-]+$/, '0'.repeat(64));
      await client.query('INSERT INTO chunks VALUES ($1, $2)', [spare, bytes]);
      await assertDamage(place, /Stored chunks that no version needs: 1 /);
      await client.query('DELETE FROM chunks WHERE name = $1', [spare]);
      assert.equal((await run(['check', ...place.words])).code, 0);
      await client.query('UPDATE versions SET manifest = NULL');
      await assertDamage(place, /The current version 1-\w+ of school has no manifest/);
      assert.doesNotMatch((await run(['check', ...place.words])).stdout, /no version needs/);
    });
  });
});
