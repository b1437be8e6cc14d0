/** `corkboard backup`, `restore` and `check` with data folders and databases. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { readDescription } from '../../src/backup/backup-folder.ts';
import { bundleOfEvents, EVENTS_PER_BUNDLE, numberedBundle } from '../import/numbered-bundles.ts';
import { IS_LONG } from '../long.ts';
import { type Bundle, EMPTY_BUNDLE, writeBundle } from '../model/bundle.ts';
import { until } from '../server/stand.ts';
import { run, runJson, start, temporaryFolder } from './command.ts';
import {
  FilledPlaces,
  newPlace,
  PATHS,
  PLACE_KINDS,
  type Place,
  type PlaceKind,
  responseOf,
  responsesOf,
  serving,
} from './places.ts';

const folder = temporaryFolder();
/** Between backups, so that they leave the processor to the import. */
const PAUSE_MS = 50;
const newPath = (name: string) => join(folder, `${name}-${randomUUID()}`);

async function load(place: Place, organization: string, bundle: Bundle): Promise<void> {
  const files = newPath('bundle');
  await writeBundle(files, bundle, 'ndjson');
  await runJson(['import', files, '--organization', organization, ...place.words]);
}

async function makeKey(place: Place, organization: string, ...more: readonly string[]): Promise<string> {
  return (await runJson(['keys', 'create', '--organization', organization, ...more, ...place.words])).key;
}

const idOf = (key: string) => key.split('_')[1]!;

interface Filled {
  readonly place: Place;
  readonly keys: readonly string[];
  readonly expected: readonly string[];
  readonly backup: string;
}

const places = new FilledPlaces(folder, fillPlace);

/**
 * Two organizations with data and one without, their keys, and a backup of the place. Outside of
 * long runs a database is restored from the backup of a folder.
 */
async function fillPlace(kind: PlaceKind): Promise<Filled> {
  const place = await newPlace(kind, folder);
  if (kind === 'database' && !IS_LONG) {
    const original = await places.original('folder');
    await runJson(['restore', original.backup, ...place.words]);
    return { ...original, place, backup: await backUp(place) };
  }
  await load(place, 'school', numberedBundle(0));
  await load(place, 'college', numberedBundle(1));
  await runJson(['organizations', 'create', 'empty', ...place.words]);
  const keys = [
    await makeKey(place, 'school'),
    await makeKey(place, 'college'),
    await makeKey(place, 'empty'),
    await makeKey(place, 'school', '--redact', 'email,name,id'),
  ];
  return { place, keys, expected: await responsesOf(place, keys), backup: await backUp(place) };
}

async function backUp(place: Place, ...more: readonly string[]): Promise<string> {
  const backup = newPath('backup');
  await runJson(['backup', backup, ...place.words, ...more]);
  return backup;
}

async function assertIntact(words: readonly string[]): Promise<void> {
  const { code, stdout } = await run(['check', ...words]);
  assert.equal(code, 0, stdout);
}

for (const kind of PLACE_KINDS) {
  const isWhole = kind === 'folder' || IS_LONG;
  const targets = IS_LONG ? PLACE_KINDS : (['folder'] as const);

  describe(`a backup of a ${kind}`, () => {
    it(`is restored with the same bytes, tags, cursors and keys, to a ${targets.join(' and a ')}`, async () => {
      const { place, keys, expected, backup } = await places.original(kind);
      // The organization without data has no board.
      assert.equal(expected.filter((line) => !/^\S+ 200 /.test(line)).length, 1);
      assert.equal(statSync(backup).mode & 0o777, 0o700);
      assert.deepEqual(
        (await readDescription(backup)).organizations.map(({ organization, events, keys: count }) => [
          ...[organization, events, count],
        ]),
        [
          ['college', EVENTS_PER_BUNDLE, 1],
          ['empty', 0, 1],
          ['school', EVENTS_PER_BUNDLE, 2],
        ],
      );
      await assertIntact(['--backup', backup]);
      if (!isWhole) {
        // It was restored itself.
        assert.deepEqual(await responsesOf(place, keys), expected);
        await assertIntact(place.words);
      }
      for (const other of targets) {
        const target = await newPlace(other, folder);
        await runJson(['restore', backup, ...target.words]);
        assert.deepEqual(await responsesOf(target, keys), expected);
        await assertIntact(target.words);
        // Below, data is imported into a folder that was restored.
        if (!IS_LONG) continue;
        await load(target, 'school', numberedBundle(1));
        await assertIntact(target.words);
      }
      // Reading it has not changed it.
      await assertIntact(['--backup', backup]);
      if (isWhole) return;
      await load(place, 'school', numberedBundle(1));
      await assertIntact(place.words);
    });

    // What follows is the same code for both, and the long run has it for both.
    if (!isWhole) return;

    it('that was made during an import is whole', async () => {
      const { place, keys: all, expected } = await places.copy(kind);
      const keys = all.slice(0, 1);
      const before = expected.slice(0, PATHS.length);
      const bundle = newPath('bundle');
      await writeBundle(bundle, numberedBundle(1), 'ndjson');
      const child = start(['import', bundle, '--organization', 'school', ...place.words]);
      const ended = once(child, 'close');
      const backups: string[] = [];
      while (child.exitCode === null) {
        backups.push(await backUp(place, '--organization', 'school'));
        await Promise.race([ended, delay(PAUSE_MS)]);
      }
      await ended;
      assert.equal(child.exitCode, 0);
      const after = await responsesOf(place, keys);
      assert.notDeepEqual(after, before);
      for (const backup of [backups[0]!, backups.at(-1)!]) {
        const target = await newPlace('folder', folder);
        await runJson(['restore', backup, ...target.words]);
        const restored = await responsesOf(target, keys);
        const expected = restored[0] === before[0] ? before : after;
        assert.deepEqual(restored, expected);
        bundleOfEvents(restored[0]!.slice(restored[0]!.indexOf('[')));
      }
    });

    it('does not bring back users or keys when it replaces newer data', async () => {
      const { place, keys, backup } = await places.copy(kind);
      const late = { id: 99n, email: 'late@x.example', name: 'Late' };
      await load(place, 'school', { ...EMPTY_BUNDLE, users: [late] });
      await run(['forget', '--organization', 'school', '--user', '7,99', ...place.words]);
      await run(['keys', 'revoke', idOf(keys.at(-1)!), ...place.words]);
      const refused = await run(['restore', backup, ...place.words]);
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, /There is data already, of college, school; nothing was restored\./);
      const { code, stdout, stderr } = await run(['restore', backup, '--replace', '--json', ...place.words]);
      assert.equal(code, 0, stderr);
      assert.match(stderr, /Repeat "corkboard forget" for them/);
      const { organizations } = JSON.parse(stdout);
      assert.deepEqual(
        organizations.map(({ organization, erased }: Record<string, unknown>) => [organization, erased]),
        [
          ['college', []],
          ['empty', []],
          ['school', [7, 99]],
        ],
      );
      const [events, , , users] = await responsesOf(place, keys.slice(0, 1));
      assert.ok(!/User 7 of|u7@example/.test(`${events} ${users}`));
      assert.match(users!, /"id":99,[^}]*Forgotten/);
      await load(place, 'school', { ...EMPTY_BUNDLE, users: [late] });
      const seen = await responsesOf(place, [keys[0]!, keys.at(-1)!]);
      assert.match(seen[PATHS.length]!, / 401 .*"key-revoked"/);
      assert.ok(!seen.some((line) => line.includes('late@x.example')));
      await assertIntact(place.words);
    });

    it('is restored while a server runs, which then serves the restored data', async () => {
      const { place, keys, expected, backup } = await places.copy(kind);
      await load(place, 'school', numberedBundle(1));
      await serving(place, async (url) => {
        const later = await responseOf(url, '/a/v1/events', keys[0]!);
        assert.notEqual(later, expected[0]);
        await runJson(['restore', backup, '--replace', ...place.words]);
        await until(async () => (await responseOf(url, '/a/v1/events', keys[0]!)) === expected[0]);
      });
    });

    it('contains and restores chosen organizations only', async () => {
      const { place, keys, expected } = await places.original(kind);
      const backup = await backUp(place, '--organization', 'school');
      const target = await newPlace(kind, folder);
      await load(target, 'other', numberedBundle(2));
      assert.equal((await run(['restore', backup, ...target.words])).code, 1);
      await runJson(['restore', backup, '--organization', 'school', ...target.words]);
      assert.deepEqual(await responsesOf(target, [keys[0]!]), expected.slice(0, PATHS.length));
      const listed = await runJson(['organizations', 'list', ...target.words]);
      assert.deepEqual(
        listed.map(({ name }: { name: string }) => name),
        ['other', 'school'],
      );
    });
  });
}

describe('a damaged backup', () => {
  it('is refused by restore and found by check, whichever file is damaged', async () => {
    const { place } = await places.original('folder');
    // All kinds of files, once each.
    const backup = await backUp(place, '--organization', 'school', '--organization', 'empty');
    const paths = readdirSync(backup, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    assert.equal(paths.length, 3 + 4);
    for (const path of paths) {
      const bytes = readFileSync(path);
      const changed = Buffer.from(bytes);
      const middle = Math.floor(bytes.length / 2);
      changed[middle] = changed[middle]! ^ 4;
      writeFileSync(path, changed);
      const checked = await run(['check', '--backup', backup]);
      assert.equal(checked.code, 1, path);
      assert.match(checked.stdout, /found damage in 1 place\.$/m, path);
      const target = await newPlace('folder', folder);
      const { code, stderr } = await run(['restore', backup, ...target.words]);
      assert.deepEqual([code, existsSync(target.options.data)], [1, false], path);
      assert.match(stderr, /damaged|no complete backup/);
      writeFileSync(path, bytes);
    }
    await assertIntact(['--backup', backup]);
    writeFileSync(join(backup, 'added'), 'x');
    assert.equal((await run(['check', '--backup', backup])).code, 1);
  });

  it('is not made of damaged data', async () => {
    const { place } = await places.copy('folder');
    const file = join(place.options.data, 'organizations/school/generations/1.duckdb');
    appendFileSync(file, Buffer.alloc(262_144));
    const backup = newPath('backup');
    const { code, stderr } = await run(['backup', backup, ...place.words]);
    assert.deepEqual([code, existsSync(backup)], [1, false]);
    assert.match(stderr, /The data of school is damaged/);
  });
});

describe('backup and restore', () => {
  it('refuse folders that they cannot use', async () => {
    const { place } = await places.original('folder');
    const used = await run(['backup', folder, ...place.words]);
    assert.deepEqual([used.code, /is not empty/.test(used.stderr)], [2, true]);
    const none = await run(['restore', folder, ...place.words]);
    assert.deepEqual([none.code, /There is no complete backup/.test(none.stderr)], [1, true]);
    const unknown = await run(['backup', newPath('backup'), '--organization', 'unknown', ...place.words]);
    assert.deepEqual([unknown.code, /There is no organization/.test(unknown.stderr)], [1, true]);
    const missing = await run(['backup', newPath('backup'), '--data', newPath('missing')]);
    assert.deepEqual([missing.code, /contains no Corkboard data/.test(missing.stderr)], [1, true]);
  });

  it('restore the data when its folder was lost', async () => {
    const { place, keys, expected, backup } = await places.copy('folder');
    rmSync(place.options.data, { recursive: true });
    const { code, stdout } = await run(['restore', backup, ...place.words]);
    assert.equal(code, 0);
    assert.match(stdout, /Restored 3 organizations as of 20/);
    assert.deepEqual(await responsesOf(place, keys), expected);
  });
});
