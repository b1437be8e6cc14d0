/** `corkboard organizations remove`, in each kind of place. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { withPlace } from '../../src/cli/process/storage.ts';
import { IS_LONG } from '../long.ts';
import { until } from '../server/stand.ts';
import { sharedBucket } from '../shared-servers.ts';
import { run, runJson, temporaryFolder } from './command.ts';
import { FilledPlaces, newPlace, PATHS, type Place, responseOf, responsesOf } from './places.ts';
import { remainsOf } from './remains.ts';
import { ask, serving } from './serving.ts';
import { writeSmallBundle } from './small-bundle.ts';

const folder = temporaryFolder();
/** In its users, boards and pins; no other organization has them. */
const TEXTS = ['zerlina@x.example', 'Zerlina Z', 'Zeugma', 'zodiac zenith'];
const own = writeSmallBundle(join(folder, 'own'), {
  'users.csv': 'id,email,name\n1,zerlina@x.example,Zerlina Z\n2,bob@x.example,Bob B\n',
  'boards.csv': 'id,title\n7,Zeugma\n9007199254740993,Far\n',
  'pins.csv': 'id,board_id,owner_id,title,body\n70,7,1,Irony,zodiac zenith\n',
});
const others = writeSmallBundle(join(folder, 'others'));

interface Filled {
  readonly place: Place;
  /** Of "Zoological" and of "school". */
  readonly keys: readonly string[];
}

const KINDS: Readonly<Record<string, () => Promise<Filled>>> = {
  'a data folder': () => folders.copy('folder'),
  'a database': async () => fill(await newPlace('database', folder)),
  'a database with a folder of chunks': async () => {
    const shared = join(folder, `chunks-${Math.random()}`);
    mkdirSync(shared);
    return await fill(await withChunksIn(shared));
  },
  'a database with a bucket': async () => {
    const { address, env } = await sharedBucket();
    // For this process and the commands that it starts.
    Object.assign(process.env, env);
    return await fill(await withChunksIn(address.replace('?', `/${Math.random()}?`)));
  },
};
/** Outside of long runs a server of each catalog: one without a cache, and one with it. */
const SERVED = IS_LONG ? Object.keys(KINDS) : ['a data folder', 'a database with a bucket'];

const folders = new FilledPlaces(folder, async (kind) => fill(await newPlace(kind, folder)));

async function withChunksIn(address: string): Promise<Place> {
  const place = await newPlace('database', folder);
  assert.equal((await run(['migrate', '--bucket', address, ...place.words])).code, 0);
  return place;
}

/** Two organizations, and a key of each. */
async function fill(place: Place): Promise<Filled> {
  const keys: string[] = [];
  for (const [name, bundle] of [
    ['Zoological', own],
    ['school', others],
  ] as const) {
    await runJson(['import', bundle, '--organization', name, ...place.words]);
    keys.push((await runJson(['keys', 'create', '--organization', name, ...place.words])).key);
  }
  return { place, keys };
}

/** Between requests, so that they leave the processor to the command. */
const PAUSE_MS = 20;

const remove = (place: Place, ...words: readonly string[]) =>
  run(['organizations', 'remove', ...words, ...place.words]);

/** What must not be found after the removal: also the secret, and the id and digest of a key. */
async function textsOf({ options }: Place, key: string): Promise<readonly string[]> {
  const [, id = ''] = key.split('_');
  return await withPlace(options, true, async ({ store, keys }) => {
    const { secret } = await store.organization('zoological');
    const digest = (await keys.row(id))?.digest ?? new Uint8Array();
    const bytes = [secret, digest].map((one) => Buffer.from(one).toString('latin1'));
    return ['zoological', id, ...bytes, ...TEXTS];
  });
}

for (const [kind, newFilled] of Object.entries(KINDS)) {
  // One after the other in the same place.
  describe(`organizations remove, in ${kind}`, () => {
    let place: Place;
    let key: string;
    let other: string;
    let first: string;
    before(async () => {
      const { keys, ...filled } = await newFilled();
      [key = '', other = ''] = keys;
      place = filled.place;
    });

    it('deletes everything of the organization, and nothing of others', async () => {
      const before = await responsesOf(place, [key, other]);
      first = before[0] ?? '';
      const texts = await textsOf(place, key);
      for (const name of ['zoological', 'school']) {
        mkdirSync(join(place.options.data, '.pull', name), { recursive: true });
        writeFileSync(join(place.options.data, '.pull', name, 'progress.json'), name);
      }
      // Each is stored somewhere; texts can be compressed in versions.
      for (const text of texts.slice(0, 4)) assert.notDeepEqual(await remainsOf([text], place), [], text);
      const removed = await runJson(['organizations', 'remove', 'zoological', '--yes', ...place.words]);
      assert.deepEqual(removed, { organization: 'Zoological', keys: 1 });
      assert.deepEqual(await remainsOf(texts, place), []);
      assert.deepEqual(await responsesOf(place, [other]), before.slice(PATHS.length));
      assert.deepEqual(readdirSync(join(place.options.data, '.pull', 'school')), ['progress.json']);
      const check = await run(['check', ...place.words]);
      assert.equal(check.code, 0, check.stdout);
      const again = await remove(place, 'zoological', '--yes');
      assert.match(again.stderr, /There is no organization "zoological"/);
      assert.equal(again.code, 1);
    });

    it('lets a new organization have the name, with a new secret, and refuses the former keys', async () => {
      await runJson(['import', own, '--organization', 'Zoological', ...place.words]);
      const created = await runJson(['keys', 'create', '--organization', 'Zoological', ...place.words]);
      const seen = await responsesOf(place, [created.key, key]);
      const [now = '', old = ''] = [seen[0], seen[PATHS.length]];
      assert.match(old, /^\S+ 401 /);
      key = created.key;
      const bodyOf = (seen: string) => seen.slice(seen.indexOf('['));
      assert.equal(bodyOf(now).includes('zodiac') || bodyOf(now).includes('Zeugma'), true);
      assert.notEqual(now, first, 'tags and tokens are made with the secret');
    });

    if (!SERVED.includes(kind)) return;

    it('makes a server refuse its keys within a second, serve others as before, and log no trouble', async (t) => {
      const server = await serving(t, ['serve', '--workers', '1', ...place.words]);
      const address = () => server.printed['Variant A']!.replace(/\/a$/, '');
      const before = await Promise.all(PATHS.map((path) => responseOf(address(), path, other)));
      assert.match(await responseOf(address(), '/a/v1/boards', key), /Zeugma/);
      const texts = await textsOf(place, key);
      let isRemoved = false;
      const asking = (async () => {
        /** Turns since the removal, each of at least `PAUSE_MS`. */
        let later = 0;
        for (;;) {
          if (isRemoved) later += 1;
          const { status, body } = await ask(`${address()}/a/v1/boards`, key);
          if (status === 401) return;
          assert.deepEqual([status, body.includes('Zeugma')], [200, true]);
          assert.ok(later * PAUSE_MS < 1_000, 'it responds for too long');
          assert.equal(await responseOf(address(), PATHS[0]!, other), before[0]);
          await delay(PAUSE_MS);
        }
      })();
      // A machine without a cache of its own: the server deletes what it has in its cache.
      const { options } = place;
      const cache = options.database === undefined ? [] : ['--cache', join(folder, 'other-cache')];
      assert.equal((await remove(place, 'zoological', '--yes', ...cache)).code, 0);
      isRemoved = true;
      await asking;
      await until(async () => (await remainsOf(texts, place)).length === 0);
      // Longer than the server keeps an organization that it does not know any more.
      await delay(4_000);
      assert.deepEqual(await Promise.all(PATHS.map((path) => responseOf(address(), path, other))), before);
      const troubles = server.log.filter(({ level, status }) => Number(level) >= 40 && status === undefined);
      assert.deepEqual(troubles, []);
      const created = await runJson(['organizations', 'create', 'Zoological', ...place.words]);
      assert.equal(created.events, 0);
      const next = (await runJson(['keys', 'create', '--organization', 'Zoological', ...place.words])).key;
      await until(async () => (await ask(`${address()}/a/v1/boards`, next)).status === 200);
      assert.equal((await ask(`${address()}/a/v1/boards`, next)).body, '[]');
      assert.equal((await ask(`${address()}/a/v1/boards`, key)).status, 401);
    });
  });
}

describe('organizations remove', () => {
  let place: Place;
  let key: string;
  before(async () => {
    const { keys, ...filled } = await folders.copy('folder');
    [key = ''] = keys;
    place = filled.place;
  });

  const removeTyping = (input: string) =>
    run(['organizations', 'remove', 'zoological', ...place.words], { input, isTerminal: true });

  it('is misuse without a terminal and without --yes', async () => {
    const { code, stdout, stderr } = await remove(place, 'zoological');
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /Add --yes to delete/);
    assert.match((await responsesOf(place, [key]))[0]!, /^\S+ 200 /);
  });

  it('says on a terminal what it deletes, and deletes nothing unless the name is typed', async () => {
    for (const input of ['', '\n', 'yes\n', 'school\n']) {
      const { code, stdout, stderr } = await removeTyping(input);
      assert.deepEqual([code, stdout], [1, ''], input);
      assert.match(stderr, /deletes Zoological for good: 3 events, 2 users, 2 boards and 1 key\./);
      assert.match(stderr, /That is not "Zoological". Nothing was deleted\./);
    }
    assert.match((await responsesOf(place, [key]))[0]!, /^\S+ 200 /);
  });

  it('deletes when the name is typed, also if the data is damaged', async () => {
    const generations = join(place.options.data, 'organizations/Zoological/generations');
    const file = join(generations, '1.duckdb');
    writeFileSync(file, readFileSync(file).subarray(0, 4096).fill(0));
    const { code, stdout, stderr } = await removeTyping('Zoological\n');
    assert.equal(code, 0, stderr);
    assert.equal(stdout, 'Removed Zoological, with 1 key.\n');
    assert.match(stderr, /data that cannot be read and 1 key/);
    assert.deepEqual(readdirSync(join(place.options.data, 'organizations')), ['school']);
  });

  it('waits for a publication', async () => {
    await withPlace(place.options, true, async ({ store }) => {
      const publication = await store.beginPublication('school', { waitMs: 0 });
      const waits = Promise.withResolvers<void>();
      const words = ['organizations', 'remove', 'school', '--yes', ...place.words];
      const removing = run(words, { onRemark: () => waits.resolve() });
      await Promise.race([waits.promise, removing]);
      await publication.discard();
      const { code, stderr } = await removing;
      assert.deepEqual([code, stderr], [0, 'Waiting for another change of school to finish.\n']);
    });
  });
});
