/** An exported organization, imported elsewhere, gives the same bytes on every route. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { type ExportOptions, exportBundle } from '../../src/export/export.ts';
import { importBundle } from '../../src/ingest/import.ts';
import { readParquet } from '../../src/store/version/parquet/parquet-reader.ts';
import { writeParquet } from '../../src/store/version/parquet/parquet-writer.ts';
import { openStation, type Station } from '../cli/stations.ts';
import { IS_LONG } from '../long.ts';
import type { ParsedRequest } from '../model/answers.ts';
import { organizationArbitrary } from '../model/arbitrary.ts';
import { EMPTY_BUNDLE } from '../model/bundle.ts';
import { get, urlPathOf } from '../model/client.ts';
import { holdsRecords, storeSettings } from '../model/deployment.ts';
import { absorb, emptyModel } from '../model/model.ts';
import { questionsAbout } from '../model/questions.ts';
import { runs } from '../model/runs.ts';
import { DIRECT, EMBEDDED } from '../storage.ts';
import { WORLD, WORLD_QUESTIONS, WORLD_SETTINGS } from '../world.ts';

type Choices = Pick<ExportOptions, 'format' | 'compression'>;

const ZSTD: Choices = { format: 'ndjson', compression: 'zstd' };
const WAYS: readonly Choices[] = [
  { format: 'ndjson', compression: 'none' },
  ZSTD,
  { format: 'csv', compression: 'gzip' },
  { format: 'parquet', compression: 'none' },
];

/** The responses of every route in both variants, without request ids. */
async function answersOf(
  station: Station,
  name: string,
  questions: readonly ParsedRequest[],
): Promise<string[]> {
  const grant = {
    organization: name,
    label: 'key',
    scope: FULL_SCOPE,
    redact: { email: false, name: false, id: false },
  };
  const { key } = await station.keyring.create(grant, Date.now() + 1e9);
  return await station.serving(async (url) => {
    const answers: string[] = [];
    for (const variant of ['a', 'b'] as const) {
      for (const question of questions) {
        const path = urlPathOf(variant, question, {});
        if (path === undefined) continue;
        const { status, text } = await get(url + path, key);
        answers.push(`${path} ${status} ${text.replace(/,"request_id":"[^"]+"/, '')}`);
      }
    }
    return answers;
  });
}

async function load({ store }: Station, organization: string, folder: string) {
  const report = await importBundle({ store, organization, paths: [folder], readParquet });
  assert.deepEqual(report.problems, []);
  return report;
}

async function exportFrom(station: Station, name: string, folder: string, choices: Choices) {
  return await station.asPlace(async ({ store }) => {
    const original = await store.openRows(name);
    try {
      return await exportBundle({ original, folder, writeParquet, ...choices });
    } finally {
      await original.close();
    }
  });
}

const NAME = 'Harbor';

for (const kind of DIRECT) {
  const isWhole = IS_LONG || kind === EMBEDDED;
  /** Each from one kind of store; bundles do not depend on where their organization is stored. */
  const ways = WAYS.filter((way) => IS_LONG || (way === ZSTD) !== isWhole);

  describe(`an organization exported from ${kind.store}`, () => {
    let folder: string;
    let source: Station;
    let target: Station;
    /** The responses about the organization that is exported. */
    let expected: readonly string[];
    const exported = new Map<Choices, string>();
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'corkboard-export-'));
      [source, target] = await Promise.all([openStation(kind), openStation(EMBEDDED)]);
      const settings = { ...storeSettings(WORLD_SETTINGS), userPointsKey: 'board-id' } as const;
      await source.store.createOrganization(NAME, settings);
      await source.load(NAME, WORLD);
      await source.load(NAME, { ...EMPTY_BUNDLE, events: WORLD.events.slice(0, 3) });
      expected = await answersOf(source, NAME, WORLD_QUESTIONS);
      assert.ok(expected.some((line) => line.includes(' 200 [{')));
    });
    after(async () => {
      await Promise.all([source.close(), target.close()]);
      await rm(folder, { recursive: true });
    });

    /** The folder of the bundle, which is exported once. */
    async function bundleAs(choices: Choices): Promise<string> {
      const known = exported.get(choices);
      if (known !== undefined) return known;
      const out = join(folder, `world-${exported.size}`);
      const files = await exportFrom(source, NAME, out, choices);
      assert.ok(files.some(({ name: file, records }) => file.startsWith('events.') && records > 3));
      exported.set(choices, out);
      return out;
    }

    for (const [place, choices] of ways.entries()) {
      it(`as ${choices.format}, ${choices.compression}, gives the same responses after an import`, async () => {
        const out = await bundleAs(choices);
        const { settings } = await source.store.organization(NAME);
        const name = `Harbor ${place}`;
        await target.store.createOrganization(name, settings);
        await load(target, name, out);
        assert.deepEqual(await answersOf(target, name, WORLD_QUESTIONS), expected);
        // An import into the same organization changes nothing.
        assert.equal((await load(source, NAME, out)).outcome, 'unchanged');
      });
    }

    it('gives the same responses and points when imported with its settings into a new organization', async () => {
      const { store } = source;
      const copy = 'Another name';
      const options = { store, organization: copy, paths: [await bundleAs(ways[0]!)] };
      const report = await importBundle({ ...options, takesSettings: true });
      assert.deepEqual(report.problems, []);
      assert.deepEqual(
        report.settings.map((path) => basename(path)),
        ['organization.json', 'policy.json'],
      );
      assert.deepEqual((await store.organization(copy)).settings, (await store.organization(NAME)).settings);
      assert.deepEqual(await answersOf(source, copy, WORLD_QUESTIONS), expected);
      // Neither a repeated import nor one without settings changes anything.
      assert.equal((await importBundle({ ...options, takesSettings: true })).outcome, 'unchanged');
      const without = await importBundle(options);
      assert.deepEqual(
        [without.outcome, without.settingsTaken, without.settings.length],
        ['unchanged', false, 2],
      );
    });

    // These do not depend on the store of the organization.
    if (!isWhole) return;

    let worlds = 0;
    it('gives the same responses after an import, for random data', async () => {
      const property = fc.asyncProperty(
        ...([
          organizationArbitrary,
          fc.constantFrom(...WAYS.filter(({ format }) => format !== 'csv')),
        ] as const),
        async (plan, choices) => {
          worlds += 1;
          const name = `random-${worlds}`;
          const entry = await source.store.createOrganization(name, storeSettings(plan.settings));
          const bundles = plan.bundles.filter(holdsRecords);
          for (const bundle of bundles) await source.load(name, bundle);
          const out = join(folder, name);
          await exportFrom(source, name, out, choices);
          await target.store.createOrganization(name, entry.settings);
          if (bundles.length > 0) await load(target, name, out);
          const model = bundles.reduce(absorb, emptyModel({ ...plan.settings, id: entry.settings.id }));
          const questions = questionsAbout(model);
          assert.deepEqual(
            await answersOf(target, name, questions),
            await answersOf(source, name, questions),
          );
        },
      );
      await fc.assert(property, runs(1));
    });

    it('passes its settings to an existing organization, unless that is a different one', async () => {
      const { store } = source;
      const options = { store, paths: [await bundleAs(ways[0]!)], takesSettings: true };
      // An organization that was created before, without data and with a different id.
      await store.createOrganization('empty before', {});
      assert.equal((await importBundle({ ...options, organization: 'empty before' })).outcome, 'published');
      const made = await store.organization('empty before');
      assert.deepEqual(made.settings, (await store.organization(NAME)).settings);
      const publication = await store.beginPublication('empty before', { waitMs: 0 });
      publication.changeSettings({ title: 'Old title', policy: '' });
      await publication.publish();
      assert.equal((await importBundle({ ...options, organization: 'empty before' })).outcome, 'published');
      const again = await store.organization('empty before');
      assert.deepEqual(again.settings, made.settings);
      await source.load('another', { ...EMPTY_BUNDLE, boards: [{ id: 1n, title: 'One' }] });
      await assert.rejects(importBundle({ ...options, organization: 'another' }), {
        code: 'settings-refused',
      });
    });

    it('is also imported with settings named as in the output of organizations show', async () => {
      const bundle = join(folder, 'camel-case');
      await mkdir(bundle);
      const given = { categoryId: 5, lmsUserProperties: ['sis_id'], userPointsKey: 'board-id' };
      await writeFile(join(bundle, 'organization.json'), JSON.stringify(given));
      await writeFile(join(bundle, 'users.csv'), 'id,email,name\n1,one@x.example,One\n');
      const options = { store: source.store, organization: 'camel', paths: [bundle], takesSettings: true };
      await source.store.createOrganization('camel', {});
      const { problems } = await importBundle(options);
      assert.deepEqual(problems, []);
      const { settings } = await source.store.organization('camel');
      assert.deepEqual(
        [settings.categoryId, settings.lmsUserProperties, settings.userPointsKey],
        [5n, ['sis_id'], 'board-id'],
      );
      for (const refused of [
        '{"user_points_key": "user"}',
        '{"constructor": 1}',
        '{"title": "two\\nlines"}',
        '{"category_id": 1, "categoryId": 2}',
      ]) {
        await writeFile(join(bundle, 'organization.json'), refused);
        await assert.rejects(importBundle(options), { code: 'settings-refused' }, refused);
      }
    });

    it('includes its settings and policy', async () => {
      const out = await bundleAs(ways[0]!);
      const text = await readFile(join(out, 'organization.json'), 'utf8');
      const settings = JSON.parse(text);
      assert.match(text, new RegExp(`"id": ?${WORLD_SETTINGS.id}\\b`));
      assert.equal(settings.title, WORLD_SETTINGS.title);
      assert.equal(settings.user_points_key, 'board-id');
      const { policy } = (await source.store.organization(NAME)).settings;
      assert.ok(policy !== '');
      assert.equal(await readFile(join(out, 'policy.json'), 'utf8'), policy);
    });

    it('refuses columns that Parquet does not distinguish', async () => {
      const name = 'Alike';
      const user = { ...WORLD.users[0]!, lms: { Login: 'a', login: 'b' } };
      await source.load(name, { ...EMPTY_BUNDLE, users: [user] });
      const out = join(folder, 'alike');
      const exported = exportFrom(source, name, out, { format: 'parquet', compression: 'none' });
      await assert.rejects(exported, { code: 'option-malformed', message: /--format ndjson/ });
      await exportFrom(source, name, out, { format: 'ndjson', compression: 'none' });
      assert.equal((await load(source, name, out)).outcome, 'unchanged');
    });

    it('is written to a new or empty folder only, and leaves no partial files', async () => {
      const out = await bundleAs(ways[0]!);
      const again = exportFrom(source, NAME, out, { format: 'ndjson', compression: 'none' });
      await assert.rejects(again, { code: 'option-malformed' });
      const file = join(folder, 'a-file');
      await writeFile(file, '');
      const onto = exportFrom(source, NAME, file, { format: 'ndjson', compression: 'none' });
      await assert.rejects(onto, { code: 'option-malformed' });
      const broken = source.asPlace(async ({ store }) => {
        const original = await store.openRows(NAME);
        try {
          const writeNothing = () => Promise.reject(new Error('no room'));
          const options = { original, folder: join(folder, 'broken'), writeParquet: writeNothing };
          return await exportBundle({ ...options, format: 'parquet', compression: 'none' });
        } finally {
          await original.close();
        }
      });
      await assert.rejects(broken, { message: 'no room' });
      assert.deepEqual(
        (await readdir(folder)).filter((name) => /broken|\.tmp$/.test(name)),
        [],
      );
    });
  });
}
