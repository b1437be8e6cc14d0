/** `corkboard copy` as an operator uses it, with a folder and a database. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type StorageOptions, withPlace } from '../../src/cli/process/storage.ts';
import { PostgresDatabase } from '../../src/store/catalog/postgres-database.ts';
import { TABLE_NAMES } from '../../src/store/version-tables.ts';
import { IS_LONG } from '../long.ts';
import { until } from '../server/stand.ts';
import { newMigratedDatabase } from '../storage.ts';
import { run, runJson, start, temporaryFolder } from './command.ts';
import { writeSmallBundle } from './small-bundle.ts';
import '../without-coverage.ts';

const PASSWORD = 's3cret-p4ss';
/** Enough events that a copy takes a while. */
const EVENTS = IS_LONG ? 200_000 : 50_000;
/** When a copy is killed again, as fractions of the time of a whole copy. */
const MOMENTS = IS_LONG ? [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9] : [];
/** Much longer than a copy takes to begin. */
const BEGUN_MS = 60_000;

const folder = temporaryFolder();
const data = join(folder, 'data');
let url: string;
let version: string;

before(async () => {
  url = await newMigratedDatabase();
  const bundle = writeSmallBundle(join(folder, 'bundle'));
  await runJson(['import', bundle, '--organization', 'school', '--data', data]);
  await runJson(['organizations', 'create', 'empty', '--title', 'No data', '--data', data]);
  for (const label of ['one', 'two']) {
    await runJson(['keys', 'create', '--organization', 'school', '--label', label, '--data', data]);
  }
  await runJson(['keys', 'create', '--organization', 'empty', '--data', data]);
  version = (await runJson(['organizations', 'show', 'school', '--data', data])).version;
});

const copy = (...words: string[]) => run(['copy', ...words]);
const listed = async (...place: string[]) => await runJson(['organizations', 'list', ...place]);
const keysOf = async (...place: string[]) => await runJson(['keys', 'list', ...place]);

describe('copy', () => {
  it('copies all organizations with their keys, including organizations without data', async () => {
    const copied = await runJson(['copy', '--from', data, '--to', url]);
    const counts = { events: 3, users: 3, boards: 2, pins: 1 };
    const nothing = { events: 0, users: 0, boards: 0, pins: 0 };
    assert.deepEqual(copied, [
      { organization: 'empty', version: null, ...nothing, keys: 1 },
      { organization: 'school', version, ...counts, keys: 2 },
    ]);
    assert.deepEqual(await listed('--database', url), await listed('--data', data));
    assert.deepEqual(await keysOf('--database', url), await keysOf('--data', data));
  });

  it('refuses an organization that has data in the target, and then copies no other organization', async () => {
    const target = join(folder, 'taken');
    await runJson(['copy', '--from', url, '--to', target, '--organization', 'school']);
    assert.deepEqual(
      (await listed('--data', target)).map(({ name }: { name: string }) => name),
      ['school'],
    );
    const { code, stdout, stderr } = await copy('--from', data, '--to', target);
    assert.deepEqual([code, stdout], [1, '']);
    assert.equal(
      stderr,
      'corkboard: The target already has an organization "school"; nothing of it was copied. Copy to a different store, or choose other organizations with --organization.\n',
    );
    assert.equal((await listed('--data', target)).length, 1);
    // An organization without data may be copied again.
    for (const _time of [1, 2])
      assert.equal((await copy('--from', data, '--to', target, '--organization', 'empty')).code, 0);
  });

  it('omits keys with --no-keys, and prints a table without --json', async () => {
    const target = join(folder, 'trial');
    const { code, stdout, stderr } = await copy('--from', data, '--to', target, '--no-keys');
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /^NAME +VERSION +EVENTS +USERS +BOARDS +PINS +KEYS\nempty +no data yet +0 /);
    assert.deepEqual(await keysOf('--data', target), []);
  });

  it('refuses invalid places, empty sources and unknown organizations, and creates no folder', async () => {
    const nowhere = join(folder, 'nowhere');
    for (const [code, words, sentence] of [
      [
        1,
        ['--from', nowhere, '--to', url],
        /^corkboard: The folder contains no Corkboard data\. Check the folder in --data /,
      ],
      [
        1,
        ['--from', data, '--to', url, '--organization', 'none'],
        /^corkboard: There is no organization "none"/,
      ],
      [
        1,
        ['--from', `postgres://test:${PASSWORD}@127.0.0.1:1/x`, '--to', nowhere],
        /^corkboard: Cannot use the database/,
      ],
      [2, ['--from', data], /^corkboard: required option '--to <dir\|url>' not specified/],
      [
        2,
        ['--from', data, '--to', `mysql://test:${PASSWORD}@db/x`],
        /Name a folder or a database; a database is a URL like/,
      ],
      [2, ['--from', '', '--to', nowhere], /option '--from .* It is empty\./],
    ] as const) {
      const result = await copy(...words);
      assert.deepEqual([result.code, result.stdout], [code, ''], result.stderr);
      assert.match(result.stderr, sentence);
      assert.ok(!result.stderr.includes(PASSWORD));
    }
    assert.ok(!existsSync(nowhere));
  });
});

/** Row counts of each table, as stored. */
async function rowsIn(place: StorageOptions): Promise<readonly number[]> {
  return await withPlace(place, true, async ({ store }) => {
    const version = await store.openRows('school');
    const counts: number[] = [];
    for (const table of TABLE_NAMES) {
      let rows = 0;
      for await (const { count } of version.rows(table)) rows += count;
      counts.push(rows);
    }
    await version.close();
    return counts;
  });
}

describe('a killed copy', () => {
  const large = join(folder, 'large');
  const events = Array.from(
    { length: EVENTS },
    (_, place) => `board,followed,1,1,7,${1_400_000_000_000 + place * 1e6}`,
  );
  const csv = `type,action,owner_id,actor_id,board_id,timestamp\n${events.join('\n')}\n`;

  /** The duration of a whole copy. */
  let wholeMs: number;
  before(async () => {
    const bundle = writeSmallBundle(join(folder, 'large-bundle'), { 'events.csv': csv });
    await runJson(['import', bundle, '--organization', 'school', '--data', large]);
    const startMs = performance.now();
    await runJson(['copy', '--from', large, '--to', join(folder, 'beside')]);
    wholeMs = performance.now() - startMs;
  });

  /** Waits until a part of the copy is in a target that was empty. */
  async function untilBegun(target: string): Promise<void> {
    if (!target.startsWith('postgres:')) return await until(() => existsSync(target), BEGUN_MS);
    const database = new PostgresDatabase(target);
    await until(async () => (await database.rows('SELECT FROM chunks LIMIT 1')).length > 0, BEGUN_MS);
    await database.close();
  }

  for (const kind of ['database', 'folder'] as const) {
    it(`leaves no current version in a ${kind}, and the next copy completes it`, async () => {
      const target = kind === 'database' ? await newMigratedDatabase() : join(folder, 'killed');
      const place = kind === 'database' ? ['--database', target] : ['--data', target];
      const isThere = () => kind === 'database' || existsSync(target);
      const inForce = async () => (isThere() ? ((await listed(...place))[0]?.version ?? null) : null);
      const killAfter = async (moment: Promise<unknown>) => {
        const child = start(['copy', '--from', large, '--to', target]);
        const ended = once(child, 'exit');
        await Promise.race([ended, moment]);
        const wasKilled = child.kill('SIGKILL');
        await ended;
        return wasKilled;
      };
      assert.ok(await killAfter(untilBegun(target)));
      for (const share of MOMENTS) {
        if ((await inForce()) !== null) break;
        await killAfter(delay(share * wholeMs));
      }
      if ((await inForce()) === null) {
        const [copied] = await runJson(['copy', '--from', large, '--to', target]);
        assert.ok(copied.events >= EVENTS);
      }
      assert.deepEqual(await listed(...place), await listed('--data', large));
      const shown = await runJson(['organizations', 'show', 'school', ...place]);
      assert.deepEqual(shown, await runJson(['organizations', 'show', 'school', '--data', large]));
      const copied =
        kind === 'database' ? { data: '', database: target, cache: join(folder, 'cache') } : { data: target };
      assert.deepEqual(await rowsIn(copied), await rowsIn({ data: large }));
    });
  }
});
