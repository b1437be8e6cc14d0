/** `corkboard organizations rename`, in a data folder and in a database. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { withPlace } from '../../src/cli/process/storage.ts';
import { IS_LONG } from '../long.ts';
import { until } from '../server/stand.ts';
import { run, runJson, type Surroundings, temporaryFolder } from './command.ts';
import {
  FilledPlaces,
  newPlace,
  PATHS,
  PLACE_KINDS,
  type Place,
  type PlaceKind,
  responseOf,
  responsesOf,
} from './places.ts';
import { remainsOf } from './remains.ts';
import { type Serving, serving } from './serving.ts';
import { writeSmallBundle } from './small-bundle.ts';

const folder = temporaryFolder();
const bundle = writeSmallBundle(join(folder, 'bundle'));
const bundles = {
  school: bundle,
  other: writeSmallBundle(join(folder, 'other'), {
    'users.csv':
      'id,email,name\n1,grace@x.example,Grace H\n2,joan@x.example,Joan C\n3,mary@x.example,Mary S\n',
  }),
};

interface Filled {
  readonly place: Place;
  /** One of each organization. */
  readonly keys: readonly string[];
  readonly responses: readonly string[];
}

const places = new FilledPlaces(folder, fillPlace);

/** With the organizations "school" and "other". */
async function fillPlace(kind: PlaceKind): Promise<Filled> {
  const place = await newPlace(kind, folder);
  const keys: string[] = [];
  for (const [name, files] of Object.entries(bundles)) {
    await runJson(['import', files, '--organization', name, ...place.words]);
    keys.push((await runJson(['keys', 'create', '--organization', name, ...place.words])).key);
  }
  return { place, keys, responses: await responsesOf(place, keys) };
}

/** Longer than a server responds to requests with the former name, after it has noticed. */
const FORMER_NAME_MS = 4_000;
/** Between requests, so that they leave the processor to the renaming. */
const PAUSE_MS = 20;

const rename = (place: Place, names: readonly [string, string], surroundings: Surroundings = {}) =>
  run(['organizations', 'rename', ...names, ...place.words], surroundings);

async function namesIn({ words }: Place): Promise<readonly string[]> {
  const list: { name: string }[] = await runJson(['organizations', 'list', ...words]);
  return list.map(({ name }) => name);
}

for (const kind of PLACE_KINDS) {
  describe(`organizations rename, in a ${kind}`, () => {
    it('keeps data, settings, secret, tokens and keys, and leaves nothing of the former name', async () => {
      const { place, keys, responses } = await places.copy(kind);
      const shown = await runJson(['organizations', 'show', 'school', ...place.words]);
      const renamed = await runJson(['organizations', 'rename', 'school', 'college', ...place.words]);
      assert.deepEqual([renamed.name, renamed.formerName, renamed.title], ['college', 'school', 'school']);
      assert.deepEqual(await namesIn(place), ['college', 'other']);
      assert.deepEqual(await runJson(['organizations', 'show', 'college', ...place.words]), {
        ...shown,
        name: 'college',
      });
      assert.deepEqual(await responsesOf(place, keys), responses);
      const listed: { organization: string }[] = await runJson(['keys', 'list', ...place.words]);
      assert.deepEqual(
        listed.map(({ organization }) => organization),
        ['college', 'other'],
      );
      assert.equal((await run(['check', ...place.words])).code, 0);
      if (kind === 'folder') {
        assert.deepEqual(readdirSync(join(place.options.data, 'organizations')), ['college', 'other']);
      }
      // The former name is free.
      await runJson(['import', bundle, '--organization', 'school', ...place.words]);
      assert.deepEqual(await namesIn(place), ['college', 'other', 'school']);
    });

    it('waits for a publication, whose data is in the renamed organization', async () => {
      const { place } = await places.copy(kind);
      await withPlace(place.options, true, async ({ store }) => {
        const publication = await store.beginPublication('school', { waitMs: 0 });
        const waits = Promise.withResolvers<void>();
        const renaming = rename(place, ['school', 'college'], { onRemark: () => waits.resolve() });
        await Promise.race([waits.promise, renaming]);
        publication.changeSettings({ title: 'Meanwhile' });
        await publication.check(({ reason }) => assert.fail(reason));
        await publication.publish();
        const { code, stderr } = await renaming;
        assert.deepEqual([code, stderr], [0, 'Waiting for another change of school to finish.\n']);
        const { title } = await runJson(['organizations', 'show', 'college', ...place.words]);
        assert.equal(title, 'Meanwhile');
      });
    });

    it('refuses a publication that has waited for it', async () => {
      const { place } = await places.copy(kind);
      await withPlace(place.options, true, async ({ store }) => {
        let waiting: Promise<unknown> | undefined;
        await store.rename('school', 'college', {
          waitMs: 0,
          async beforeRenaming() {
            const waits = Promise.withResolvers<void>();
            const options = { waitMs: 60_000, onWait: waits.resolve };
            waiting = store.beginPublication('school', options).catch((error: unknown) => error);
            await Promise.race([waits.promise, waiting]);
          },
          renameKeys: async () => {},
          afterRenaming: async () => {},
        });
        assert.equal(((await waiting) as { code?: string }).code, 'organization-unknown');
      });
      assert.equal((await run(['check', ...place.words])).code, 0);
    });

    // What follows is the same code for both; each statement of both catalogs is used above.
    if (kind !== 'folder' && !IS_LONG) return;

    it('can be repeated, with data that is imported in between', async () => {
      const { place, keys } = await places.copy(kind);
      for (const [from, to] of [
        ['school', 'two'],
        ['two', 'one'],
        ['one', 'One'],
        ['one', 'three'],
      ] as const) {
        const { code, stdout, stderr } = await rename(place, [from, to]);
        assert.deepEqual([code, stdout, stderr], [0, `Renamed ${from} to ${to}.\n`, '']);
        const more = join(folder, 'boards.csv');
        writeFileSync(more, `id,title\n100,as ${to}\n`);
        await runJson(['import', more, '--organization', to, ...place.words]);
        const [boards = ''] = (await responsesOf(place, keys.slice(0, 1))).filter((body) =>
          body.includes('/a/v1/boards'),
        );
        assert.ok(boards.includes(`as ${to}`), boards);
        assert.equal((await run(['check', '--organization', to, ...place.words])).code, 0);
      }
      assert.deepEqual(await namesIn(place), ['other', 'three']);
    });

    it('refuses names that are taken, in any case, the same or malformed, and unknown organizations', async () => {
      const { place, keys, responses } = await places.copy(kind);
      for (const [from, to, message] of [
        ['school', 'OTHER', /"other" already exists\. Choose a different name/],
        ['school', 'school', /"school" already exists\. Choose a different name/],
        ['school', '../up', /"\.\.\/up" is not a valid organization name/],
        ['none', 'some', /There is no organization "none"/],
      ] as const) {
        const { code, stdout, stderr } = await rename(place, [from, to]);
        assert.deepEqual([code, stdout], [1, ''], `${from} to ${to}`);
        assert.match(stderr, message);
      }
      assert.equal((await run(['organizations', 'rename', 'school', ...place.words])).code, 2);
      assert.deepEqual(await responsesOf(place, keys), responses);
      if (kind === 'folder') {
        assert.deepEqual(readdirSync(join(place.options.data, 'organizations')), ['other', 'school']);
      }
    });

    it('moves the files of pulls, and deletes those that an earlier organization of the new name left', async () => {
      const place = await newPlace(kind, folder);
      await runJson(['organizations', 'create', 'School', ...place.words]);
      const pulls = join(place.options.data, '.pull');
      for (const name of ['school', 'college']) mkdirSync(join(pulls, name), { recursive: true });
      writeFileSync(join(pulls, 'school', 'progress.json'), 'kept');
      writeFileSync(join(pulls, 'college', 'other.json'), 'stale');
      assert.equal((await rename(place, ['School', 'college'])).code, 0);
      assert.deepEqual(readdirSync(join(pulls, 'college')), ['progress.json']);
      assert.ok(!existsSync(join(pulls, 'school')));
    });
  });

  if (kind === 'folder') {
    it('a renaming that fails after the switch keeps the former name valid until it is repeated, or the organization removed', async () => {
      const { place, keys, responses } = await places.copy(kind);
      const failing = withPlace(place.options, true, ({ store }) =>
        store.rename('school', 'college', {
          waitMs: 0,
          beforeRenaming: async () => {},
          renameKeys: async () => assert.fail('a full disk'),
          afterRenaming: async () => {},
        }),
      );
      await assert.rejects(failing, /a full disk/);
      assert.deepEqual(await namesIn(place), ['college', 'other']);
      assert.deepEqual(await responsesOf(place, keys), responses);
      const remedy = /corkboard organizations rename "school" "college"/;
      const created = await run(['organizations', 'create', 'school', ...place.words]);
      assert.deepEqual([created.code, remedy.test(created.stderr)], [1, true], created.stderr);
      const check = await run(['check', ...place.words]);
      assert.deepEqual([check.code, remedy.test(check.stdout)], [1, true], check.stdout);
      const renamed = await rename(place, ['school', 'academy']);
      assert.equal(renamed.code, 0, renamed.stderr);
      assert.deepEqual(await namesIn(place), ['academy', 'other']);
      assert.deepEqual(await responsesOf(place, keys), responses);
      assert.equal((await run(['check', ...place.words])).code, 0);
    });

    it('an organization whose renaming has failed can be removed by either name', async () => {
      for (const name of ['school', 'college']) {
        const { place, keys } = await places.copy(kind);
        const failing = withPlace(place.options, true, ({ store }) =>
          store.rename('school', 'college', {
            waitMs: 0,
            beforeRenaming: async () => {},
            renameKeys: async () => assert.fail('a full disk'),
            afterRenaming: async () => {},
          }),
        );
        await assert.rejects(failing, /a full disk/);
        const removed = await run(['organizations', 'remove', name, '--yes', ...place.words]);
        assert.equal(removed.code, 0, removed.stderr);
        assert.deepEqual(await remainsOf(['school', 'college', 'ada@x.example'], place), []);
        assert.match((await responsesOf(place, keys))[0]!, /^\S+ 401 /);
      }
    });
  }

  describe(`a server while an organization is renamed in a ${kind}`, () => {
    const ends: (() => void)[] = [];
    let place: Place;
    let keys: readonly string[];
    let server: Serving;
    before(async () => {
      ({ place, keys } = await places.copy(kind));
      const t = { after: (end: () => void) => ends.push(end) };
      server = await serving(t, ['serve', '--workers', '1', ...place.words]);
    });
    after(() => {
      for (const end of ends) end();
    });

    const seen = async (path: string, key = '') =>
      await responseOf(server.printed['Variant A']!.replace(/\/a$/, ''), path, key);

    it('goes on responding as before, to keys of both organizations, and serves what is imported later', async () => {
      const [own, others] = keys;
      const before = await Promise.all(PATHS.map((path) => seen(path, own)));
      const beforeOthers = await Promise.all(PATHS.map((path) => seen(path, others)));
      let renaming = true;
      let rounds = 0;
      const asking = (async () => {
        for (; renaming; rounds += 1) {
          for (const [at, path] of PATHS.entries()) {
            assert.equal(await seen(path, own), before[at]);
            assert.equal(await seen(path, others), beforeOthers[at]);
            await delay(PAUSE_MS);
          }
        }
      })();
      for (const [from, to] of [
        ['school', 'college'],
        ['college', 'academy'],
      ] as const) {
        assert.equal((await rename(place, [from, to])).code, 0);
        const roundsBefore = rounds;
        await Promise.race([asking, until(() => rounds > roundsBefore + 1)]);
      }
      await Promise.race([asking, delay(FORMER_NAME_MS)]);
      renaming = false;
      await asking;
      const more = join(folder, 'boards.csv');
      writeFileSync(more, 'id,title\n100,Later\n');
      await runJson(['import', more, '--organization', 'academy', ...place.words]);
      await until(async () => (await seen('/a/v1/boards', own)).includes('Later'));
      const troubles = server.log.filter(({ level }) => Number(level) >= 40);
      assert.deepEqual(troubles, []);
    });
  });
}
