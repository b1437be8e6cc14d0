/**
 * Version files, images and manifests of a different organization or version in the place of the
 * current one: they are never served, nothing is built on them, and they are reported.
 */
import assert from 'node:assert/strict';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Client } from 'pg';
import { imageOf } from '../../src/dataset/resident/holdings-image.ts';
import { loadDataset } from '../../src/dataset/resident/load.ts';
import type { Store } from '../../src/store/store.ts';
import { run } from '../cli/command.ts';
import { openPublished, publishRecords, type Records } from '../dataset/small-world.ts';
import { DEFAULT_STORAGE, EMBEDDED, STORAGES, type StorageKind } from '../storage.ts';
import { ORGANIZATION, openStand, type Stand, until } from './stand.ts';

const OTHER = 'other';
const OTHERS: Records = {
  users: [{ id: 1n, email: 'secret@y.example', name: 'Somebody Else' }],
  boards: [{ id: 7n, title: 'Of the other one' }],
};
const BOARD: Records = { boards: [{ id: 99n, title: 'Second version' }] };
const OWN = [ORGANIZATION, 1] as const;
const SECOND = [ORGANIZATION, 2] as const;
const FOREIGN = [OTHER, 1] as const;
const REASON = /is the version 1-\w+ of a different organization instead of 1-/;
const KEPT = ['duckdb', 'manifest'];
/** Polls of a server after which it would have opened a file again. */
const POLLS = 4;

type Test = (stand: Stand, waitForPolls: () => Promise<void>) => Promise<void>;

/** A stand with a second organization. Nothing is read before the test requests it. */
async function withTwo(kind: StorageKind, test: Test): Promise<void> {
  let polls = 0;
  const around = (store: Store) =>
    new Proxy(store, {
      get(target, name) {
        if (name === 'currentVersion') polls += 1;
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  const stand = await openStand({ kind, around, isUnique: true });
  try {
    await stand.store.createOrganization(OTHER, {});
    await publishRecords(stand.store, OTHER, OTHERS);
    await test(stand, async () => {
      const seen = polls;
      await until(() => polls >= seen + POLLS);
    });
  } finally {
    await stand.close();
  }
}

function pathOf({ folder }: Stand, [organization, publication]: readonly [string, number], suffix: string) {
  return join(folder, 'data/organizations', organization, `generations/${publication}.${suffix}`);
}

/** Copies files of one version to the place of another one. */
async function put(
  stand: Stand,
  from: readonly [string, number],
  to: readonly [string, number],
  suffixes: readonly string[],
): Promise<void> {
  for (const suffix of suffixes) await copyFile(pathOf(stand, from, suffix), pathOf(stand, to, suffix));
}

async function states({ url, log }: Stand) {
  const ready = await (await fetch(`${url}/readyz`)).text();
  const { impaired_organizations: impaired } = JSON.parse(ready);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const failures = /^corkboard_dataset_failures_total (\d+)$/m.exec(metrics)?.[1];
  return { impaired, failures: Number(failures), lines: log.filter(({ level }) => level === 'error') };
}

/** Asserts that each request gets 503, reported once, and that no command uses the data. */
async function assertRefused(
  stand: Stand,
  waitForPolls: () => Promise<void>,
  reason = REASON,
): Promise<void> {
  for (const path of ['/a/v1/users', '/a/v1/events', '/b/v1/boards']) {
    const response = await stand.get(path);
    assert.equal(response.status, 503, await response.clone().text());
    const problem = await response.text();
    assert.match(problem, /"code":"data-unreadable"/);
    assert.ok(!problem.includes(stand.folder) && !problem.includes(OTHER));
  }
  await waitForPolls();
  const { impaired, failures, lines } = await states(stand);
  assert.deepEqual(impaired, { unavailable: 1, earlier: 0, partial: 0 });
  assert.equal(failures, 1);
  assert.equal(lines.length, 1);
  assert.match(JSON.stringify(lines), reason);
  await assertNoUse(stand, reason);
}

async function assertNoUse(stand: Stand, reason: RegExp): Promise<void> {
  const bundle = join(stand.folder, 'users.csv');
  await writeFile(bundle, 'id,email\n77,new@x.example\n');
  const of = ['--organization', ORGANIZATION];
  for (const [index, words] of [
    ['import', bundle, ...of],
    ['forget', ...of, '--user', '5'],
    ['export', join(stand.folder, 'export'), ...of],
    ['backup', join(stand.folder, 'backup')],
    ['copy', '--from', stand.words[1]!, '--to', join(stand.folder, 'copy'), ...of],
    ['versions', 'list', ...of],
    ['check'],
  ].entries()) {
    const { code, stdout, stderr } = await run([...words, ...(words[0] === 'copy' ? [] : stand.words)]);
    assert.deepEqual([index, code], [index, 1], stdout + stderr);
    assert.match(stdout + stderr, reason);
    assert.doesNotMatch(stderr, /This is a bug/);
  }
}

for (const kind of [EMBEDDED, DEFAULT_STORAGE]) {
  describe(`a data folder read ${kind.resident ? 'from memory' : 'directly'}`, () => {
    for (const suffixes of [['duckdb'], ['duckdb', 'manifest']]) {
      it(`with the ${suffixes.join(' and ')} of a different organization is refused`, () =>
        withTwo(kind, async (stand, waitForPolls) => {
          await put(stand, FOREIGN, OWN, suffixes);
          await assertRefused(stand, waitForPolls);
        }));
    }

    it('serves an earlier version when its file lies in the place of the current one', () =>
      withTwo(kind, async (stand, waitForPolls) => {
        await stand.publish(BOARD);
        await put(stand, OWN, SECOND, ['duckdb', 'manifest']);
        const response = await stand.get('/a/v1/boards');
        assert.equal(response.status, 200);
        assert.doesNotMatch(await response.text(), /Second version/);
        await waitForPolls();
        const { impaired, lines } = await states(stand);
        assert.deepEqual(impaired, { unavailable: 0, earlier: 1, partial: 0 });
        assert.equal(lines.length, 1);
        await assertNoUse(stand, /is the version 1-\w+ instead of 2-/);
      }));

    it('does not serve a different organization in the place of an earlier version', () =>
      withTwo(kind, async (stand, waitForPolls) => {
        await stand.publish(BOARD);
        await put(stand, FOREIGN, OWN, ['duckdb', 'manifest']);
        const { code, stdout } = await run(['check', ...stand.words]);
        assert.equal(code, 1);
        assert.match(stdout, /1\.duckdb is the version 1-\w+ of a different organization/);
        await put(stand, FOREIGN, SECOND, ['duckdb', 'manifest']);
        await assertRefused(stand, waitForPolls, /is the version 1-\w+ of a different organization instead/);
      }));
  });
}

describe('a data folder', () => {
  it('with the image of a different organization is served from its own file', () =>
    withTwo(DEFAULT_STORAGE, async (stand) => {
      await writeImage(stand, OTHER);
      await put(stand, FOREIGN, OWN, ['image']);
      const response = await stand.get('/a/v1/users');
      assert.equal(response.status, 200);
      assert.doesNotMatch(await response.text(), /Somebody Else/);
      assert.equal((await states(stand)).failures, 0);
    }));

  it('with everything of a different organization is refused until it is repaired', () =>
    withTwo(DEFAULT_STORAGE, async (stand, waitForPolls) => {
      await writeImage(stand, OTHER);
      const asideOf = (suffix: string) => join(stand.folder, `aside.${suffix}`);
      for (const suffix of KEPT) await copyFile(pathOf(stand, OWN, suffix), asideOf(suffix));
      await put(stand, FOREIGN, OWN, [...KEPT, 'image']);
      await assertRefused(stand, waitForPolls);
      for (const suffix of KEPT) await copyFile(asideOf(suffix), pathOf(stand, OWN, suffix));
      assert.equal((await run(['check', ...stand.words])).code, 0);
      await until(async () => (await stand.get('/a/v1/users')).status === 200);
      await stand.publish(BOARD);
      assert.equal((await run(['check', ...stand.words])).code, 0);
    }));

  it('with its own image reads nothing of a different organization beside it', () =>
    withTwo(DEFAULT_STORAGE, async (stand) => {
      await writeImage(stand, ORGANIZATION);
      await put(stand, FOREIGN, OWN, KEPT);
      const users = await stand.get('/a/v1/users');
      assert.equal(users.status, 200);
      assert.doesNotMatch(await users.text(), /Somebody Else/);
      // The image has no values of LMS properties.
      for (const _ of [1, 2]) {
        const response = await stand.get('/a/v1/lms_user/sis/B-1/points');
        assert.equal(response.status, 503);
        const problem = await response.text();
        assert.ok(!problem.includes(stand.folder) && !problem.includes('different organization'));
      }
      const { impaired, lines } = await states(stand);
      assert.deepEqual(impaired, { unavailable: 0, earlier: 0, partial: 1 });
      assert.equal(lines.length, 1);
      assert.match(JSON.stringify(lines), REASON);
      await assertNoUse(stand, REASON);
    }));
});

/** Writes the memory image that a server writes after a while. */
async function writeImage({ store }: Stand, organization: string): Promise<void> {
  const stored = await openPublished(store, organization);
  const loaded = await loadDataset(stored, () => undefined);
  await stored.image!.write(imageOf(loaded.held));
  await loaded.close();
}

describe('a database', () => {
  const kinds = STORAGES.filter(({ store }) => store === 'PostgreSQL');
  for (const kind of kinds) {
    it('with the manifest and the chunks of a different organization is refused', () =>
      withTwo(kind, async (stand, waitForPolls) => {
        await change(
          stand,
          `INSERT INTO chunks (name, bytes)
           SELECT (SELECT folder FROM organizations WHERE name = $1) || substr(name, strpos(name, '/')), bytes
           FROM chunks WHERE name LIKE (SELECT folder FROM organizations WHERE name = $2) || '/%'`,
          `UPDATE versions SET manifest = (SELECT manifest FROM versions JOIN organizations USING (organization) WHERE name = $2)
           WHERE organization = (SELECT organization FROM organizations WHERE name = $1)`,
        );
        await assertRefused(stand, waitForPolls);
      }));

    it('with an incomplete manifest of the current version is refused', () =>
      withTwo(kind, async (stand, waitForPolls) => {
        await change(
          stand,
          `UPDATE versions SET manifest = substr(manifest, 1, 20)
           WHERE organization = (SELECT organization FROM organizations WHERE name = $1) AND $2 <> ''`,
        );
        await assertRefused(stand, waitForPolls, /The list of the chunks of a version is damaged/);
      }));

    it('without the manifest of the current version is refused', () =>
      withTwo(kind, async (stand, waitForPolls) => {
        await change(
          stand,
          `UPDATE versions SET manifest = NULL
           WHERE organization = (SELECT organization FROM organizations WHERE name = $1) AND $2 <> ''`,
        );
        await assertRefused(stand, waitForPolls, /The current version 1-\w+ of harbor has no manifest/);
      }));
  }
});

/** Runs statements in the database of a stand; $1 and $2 are the two organizations. */
async function change(stand: Stand, ...statements: readonly string[]): Promise<void> {
  const client = new Client(stand.words[1]!);
  await client.connect();
  try {
    await client.query('SET search_path = corkboard');
    for (const statement of statements) await client.query(statement, [ORGANIZATION, OTHER]);
  } finally {
    await client.end();
  }
}
