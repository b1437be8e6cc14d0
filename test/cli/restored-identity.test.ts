/**
 * An organization is the one with its secret, whatever its name: restores and copies over
 * organizations that were renamed, replaced or erased from since.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { run, runJson, temporaryFolder } from './command.ts';
import {
  FilledPlaces,
  newPlace,
  PLACE_KINDS,
  type Place,
  responseOf,
  responsesOf,
  serving,
} from './places.ts';
import { remainsOf } from './remains.ts';
import { writeSmallBundle } from './small-bundle.ts';
import '../without-coverage.ts';

const folder = temporaryFolder();
const bundle = writeSmallBundle(join(folder, 'bundle'));
const OTHER_USERS =
  'id,email,name\n1,joan@x.example,Joan C\n2,mary@x.example,Mary S\n3,rose@x.example,Rose T\n';
const otherBundle = writeSmallBundle(join(folder, 'other'), { 'users.csv': OTHER_USERS });
/** User 2 of the first bundle. */
const ERASED = ['bob@x.example', 'Bob B'];

interface Filled {
  readonly place: Place;
  readonly backup: string;
  /** Of "school" and of "other". */
  readonly keys: readonly string[];
}

/** With the organizations "school" and "other", and a backup of both. */
const places = new FilledPlaces<Filled>(folder, async (kind) => {
  const place = await newPlace(kind, folder);
  const keys: string[] = [];
  for (const [name, files] of [
    ['school', bundle],
    ['other', otherBundle],
  ] as const) {
    await runJson(['import', files, '--organization', name, ...place.words]);
    keys.push(await makeKey(place, name));
  }
  const backup = join(folder, `backup-${randomUUID()}`);
  await runJson(['backup', backup, ...place.words]);
  return { place, keys, backup };
});

async function makeKey({ words }: Place, organization: string): Promise<string> {
  return (await runJson(['keys', 'create', '--organization', organization, ...words])).key;
}

async function succeed(place: Place, ...words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run([...words, ...place.words]);
  assert.equal(code, 0, stderr);
  return stdout + stderr;
}

/** Which organization each key opens, by its users. */
async function usersOf(place: Place, keys: readonly string[]): Promise<readonly string[]> {
  return await serving(place, (url) => Promise.all(keys.map((key) => responseOf(url, '/b/v1/users', key))));
}

async function assertIntact(place: Place): Promise<void> {
  const { code, stdout } = await run(['check', ...place.words]);
  assert.equal(code, 0, stdout);
}

for (const kind of PLACE_KINDS) {
  describe(`restoring over a renamed organization in a ${kind}`, () => {
    async function renamed(): Promise<Filled> {
      const filled = await places.copy(kind);
      await succeed(filled.place, 'organizations', 'rename', 'school', 'college');
      await succeed(filled.place, 'forget', '--organization', 'college', '--user', '2');
      return filled;
    }

    it('is refused with both names and the ways on, and changes nothing', async () => {
      const { place, backup, keys } = await renamed();
      const before = await responsesOf(place, keys);
      const listed = await runJson(['keys', 'list', ...place.words]);
      const target = place.options.database ?? place.options.data;
      for (const words of [
        ['restore', backup, '--replace', ...place.words],
        ['restore', backup, '--replace', '--organization', 'school', ...place.words],
        ['copy', '--from', backup, '--organization', 'school', '--to', target],
      ]) {
        const { code, stdout, stderr } = await run(words);
        assert.deepEqual([code, stdout], [1, ''], words.join(' '));
        assert.match(stderr, /"school" is named "college" in the target; nothing was changed\./);
        assert.match(stderr, /--replace --organization "college"/);
        assert.match(stderr, /corkboard organizations rename "college" "school"/);
        assert.deepEqual(await responsesOf(place, keys), before);
        assert.deepEqual(await runJson(['keys', 'list', ...place.words]), listed);
      }
      await assertIntact(place);
    });

    it('is restored under its present name, with its keys, and without users erased since', async () => {
      const { place, backup, keys } = await renamed();
      const later = await makeKey(place, 'college');
      const words = ['restore', backup, '--replace', '--organization', 'college', ...place.words];
      const { organizations } = await runJson(words);
      assert.deepEqual(
        organizations.map(({ organization, keys, newKeys, erased }: Record<string, unknown>) => [
          ...[organization, keys, newKeys, erased],
        ]),
        [['college', 1, 0, [2]]],
      );
      const [own, other, newer] = await usersOf(place, [...keys, later]);
      assert.equal(newer, own);
      assert.match(own!, /ada@x\.example.*Forgotten/);
      assert.match(other!, /joan@x\.example/);
      assert.deepEqual(await remainsOf(ERASED, place), []);
      const rows: { organization: string }[] = await runJson(['keys', 'list', ...place.words]);
      assert.deepEqual(rows.map(({ organization }) => organization).sort(), ['college', 'college', 'other']);
      await assertIntact(place);
    });

    it('restores it under its former name once it has that name again', async () => {
      const { place, backup, keys } = await renamed();
      await succeed(place, 'organizations', 'rename', 'college', 'school');
      await succeed(place, 'restore', backup, '--replace');
      const [own] = await usersOf(place, keys);
      assert.match(own!, /ada@x\.example.*Forgotten/);
      assert.deepEqual(await remainsOf(ERASED, place), []);
    });
  });

  describe(`a name in a ${kind} that belongs to a different organization`, () => {
    it('is not replaced by an organization with a different secret', async () => {
      const { place, backup, keys } = await places.copy(kind);
      await succeed(place, 'organizations', 'remove', 'school', '--yes');
      await succeed(place, 'import', otherBundle, '--organization', 'school');
      const newer = await makeKey(place, 'school');
      const { code, stderr } = await run(['restore', backup, '--replace', ...place.words]);
      assert.equal(code, 1);
      assert.match(stderr, /"school" is a different organization in the target/);
      assert.match(
        stderr,
        /organizations rename "school" NEW-NAME, or corkboard organizations remove "school"/,
      );
      assert.match((await usersOf(place, [newer]))[0]!, /joan@x\.example/);
      await succeed(place, 'organizations', 'rename', 'school', 'new school');
      await succeed(place, 'restore', backup, '--replace');
      const [own, , newerOwn] = await usersOf(place, [...keys, newer]);
      assert.match(own!, /ada@x\.example/);
      assert.match(newerOwn!, /joan@x\.example/);
      await assertIntact(place);
    });

    it('is not replaced without data either, as long as it has keys', async () => {
      const { place, backup } = await places.copy(kind);
      await succeed(place, 'organizations', 'remove', 'school', '--yes');
      await succeed(place, 'organizations', 'create', 'school');
      const key = await makeKey(place, 'school');
      const restore = ['restore', backup, '--organization', 'school'];
      const { code, stderr } = await run([...restore, ...place.words]);
      assert.equal(code, 1);
      assert.match(stderr, /without data but with a key that would open the copied data/);
      await succeed(place, 'keys', 'revoke', key.split('_')[1]!);
      await succeed(place, ...restore);
      assert.match((await usersOf(place, [key]))[0]!, / 401 .*key-revoked/);
    });
  });

  describe(`a restored organization in a ${kind}`, () => {
    it('keeps the rules that it has, and the report and the audit say so', async () => {
      const { place, backup } = await places.copy(kind);
      const rules = ['--longest-key-life', '30d', '--keep-events', '2400 months', '--keep-versions', '5'];
      await succeed(place, 'organizations', 'configure', 'school', ...rules);
      const told = await succeed(place, 'restore', backup, '--replace');
      assert.match(
        told,
        /The rules of school stay as they were here, not as in the backup: longest key life: 30 days; kept versions: the last 5; kept events: 2,400 months\./,
      );
      assert.doesNotMatch(told, /rules of other/);
      const shown = await runJson(['organizations', 'show', 'school', ...place.words]);
      const { longestKeyLifeSeconds, keptVersions, keptEvents } = shown;
      assert.deepEqual([longestKeyLifeSeconds, keptVersions, keptEvents], [2_592_000, 5, { months: 2400 }]);
      const audit = await succeed(place, 'audit', '--json');
      assert.match(audit, /"keptVersions":5/);
      assert.match(audit, /"keys":\{"restored":0,"unchanged":1\}/);
    });

    it('has each version once in its history, and the one that was restored is kept', async () => {
      const { place, backup } = await places.copy(kind);
      const school = ['--organization', 'school'];
      const listed = async () =>
        (await runJson(['versions', 'list', ...school, ...place.words])).map(
          ({ publication, isKept }: Record<string, unknown>) => [publication, isKept],
        );
      await succeed(place, 'import', otherBundle, ...school);
      await succeed(place, 'restore', backup, '--replace');
      assert.deepEqual(await listed(), [[3, true]]);
      await succeed(place, 'import', otherBundle, ...school);
      assert.deepEqual(await listed(), [
        [4, true],
        [3, true],
      ]);
      await succeed(place, 'rollback', ...school, '--to', '3');
    });

    it('gets the rules of the backup if it was not there', async () => {
      const { place } = await places.copy(kind);
      await succeed(place, 'organizations', 'configure', 'school', '--longest-key-life', '30d');
      const backup = join(folder, `backup-${randomUUID()}`);
      await runJson(['backup', backup, ...place.words]);
      const target = await newPlace(kind, folder);
      const { organizations } = await runJson(['restore', backup, ...target.words]);
      assert.deepEqual(
        organizations.map(({ rulesOf, longestKeyLifeSeconds, newKeys }: Record<string, unknown>) => [
          ...[rulesOf, longestKeyLifeSeconds ?? null, newKeys],
        ]),
        [
          ['backup', null, 1],
          ['backup', 2_592_000, 1],
        ],
      );
    });

    it('keeps the case of its present name', async () => {
      const { place, backup, keys } = await places.copy(kind);
      const before = await responsesOf(place, keys);
      await succeed(place, 'organizations', 'rename', 'school', 'School');
      await succeed(place, 'restore', backup, '--replace');
      assert.deepEqual(await responsesOf(place, keys), before);
      const listed: { name: string }[] = await runJson(['organizations', 'list', ...place.words]);
      assert.deepEqual(
        listed.map(({ name }) => name),
        ['other', 'School'],
      );
      await assertIntact(place);
    });
  });
}
