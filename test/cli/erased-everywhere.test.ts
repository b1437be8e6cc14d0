/**
 * `corkboard forget` after commands that were killed: either no data of the user remains, wherever
 * they have left it, or the command says what it cannot reach (decision 54).
 */
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { PostgresDatabase } from '../../src/store/catalog/postgres-database.ts';
import { openPlace } from '../../src/store/chunks/places.ts';
import { run, runJson, temporaryFolder } from './command.ts';
import { killedSteps } from './killed-steps.ts';
import { FilledPlaces, newPlace, type Place } from './places.ts';
import { inFolder, remainsOf } from './remains.ts';
import { writeSmallBundle } from './small-bundle.ts';
import '../without-coverage.ts';

const folder = temporaryFolder();
const bundle = writeSmallBundle(join(folder, 'bundle'));
/** User 2 of the bundle. */
const ERASED = ['bob@x.example', 'Bob B'];
const forget = (name: string) => ['forget', '--organization', name, '--user', '2'];

/** With the organization "school". */
const places = new FilledPlaces(folder, async (kind) => {
  const place = await newPlace(kind, folder);
  await runJson(['import', bundle, '--organization', 'school', ...place.words]);
  return { place };
});

async function succeed(place: Place, ...words: readonly string[]): Promise<void> {
  const { code, stderr } = await run([...words, ...place.words]);
  assert.equal(code, 0, stderr);
}

async function onlyName({ words }: Place): Promise<string> {
  const [entry, ...others]: { name: string }[] = await runJson(['organizations', 'list', ...words]);
  assert.deepEqual(others, []);
  return entry!.name;
}

describe('forget, in a data folder', () => {
  it('erases the user from what a renaming left that was killed at any step', async () => {
    const rename = ['organizations', 'rename', 'school', 'college'];
    const copy = async () => (await places.copy('folder')).place;
    for await (const { place, step } of killedSteps(copy, rename)) {
      const name = await onlyName(place);
      await succeed(place, ...forget(name));
      assert.deepEqual(await remainsOf(ERASED, place), [], `step ${step}`);
      if (name === 'school') await succeed(place, ...rename);
      assert.deepEqual(await remainsOf(ERASED, place), [], `step ${step}`);
    }
  });

  it('is refused, and names the folder, if one that belongs to no organization has data', async () => {
    const { place } = await places.copy('folder');
    const organizations = join(place.options.data, 'organizations');
    // As a renaming of an earlier version of Corkboard left it when it was killed.
    await succeed(place, 'organizations', 'rename', 'school', 'college');
    cpSync(join(organizations, 'college'), join(organizations, 'school'), { recursive: true });
    const refused = await run([...forget('college'), ...place.words]);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /organizations.school belongs to no organization and may contain data of/);
    assert.match(refused.stderr, /move it elsewhere\. Then repeat the command, and/);
    // An import that erases the user is refused as well.
    const users = join(folder, 'users.ndjson');
    writeFileSync(users, '{"id":2,"email":"x@x.example","name":"Bob","forgotten":true}\n');
    const imported = await run(['import', users, '--organization', 'college', ...place.words]);
    assert.deepEqual([imported.code, /may contain data of/.test(imported.stderr)], [1, true]);
    assert.ok(inFolder(join(organizations, 'college'), ERASED).length > 0, 'nothing was erased');
    renameSync(join(organizations, 'school'), join(folder, 'elsewhere'));
    await succeed(place, ...forget('college'));
    assert.deepEqual(await remainsOf(ERASED, place), []);
  });
});

describe('forget, in a database', () => {
  it('erases the user from the cache of another machine, whatever a killed import left there', async () => {
    const { place } = await places.copy('database');
    const cache = place.options.cache!;
    await succeed(place, 'prefetch');
    const [catalog = ''] = readdirSync(cache);
    const [organization = ''] = readdirSync(join(cache, catalog));
    const own = join(cache, catalog, organization);
    cpSync(join(own, '1.duckdb'), join(own, 'next-1700000000000.building'));
    const other = { ...place, words: [...place.words, '--cache', join(folder, 'other-cache')] };
    await succeed(other, ...forget('school'));
    assert.deepEqual(
      await remainsOf(ERASED, { ...place, options: { ...place.options, cache: other.words.at(-1)! } }),
      [],
    );
    assert.equal(inFolder(cache, ERASED).length, 2);
    await succeed(place, 'organizations', 'list');
    assert.deepEqual(inFolder(cache, ERASED), []);
  });

  it('erases the user from chunks that an interrupted move has left', async () => {
    const { place } = await places.copy('database');
    const target = join(folder, 'chunks');
    mkdirSync(target);
    await succeed(place, 'migrate', '--bucket', target);
    const database = new PostgresDatabase(place.options.database!);
    const chunks = await openPlace(target, database);
    const table = await openPlace('', database);
    for await (const names of chunks.list(''))
      for (const name of names) await table.put(name, (await chunks.get(name))!);
    await chunks.close();
    await succeed(place, ...forget('school'));
    assert.deepEqual(await database.rows('SELECT name FROM chunks'), []);
    await database.close();
    assert.deepEqual(await remainsOf(ERASED, place), []);
    assert.ok(existsSync(target));
  });
});
