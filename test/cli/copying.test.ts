/** Organizations on their way from a folder to a database and on to another folder: the same at every station. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { copyAll } from '../../src/cli/commands/copy.ts';
import { FULL_SCOPE, type Scope } from '../../src/domain/scope.ts';
import { organizationArbitrary, rangeArbitrary, scopeArbitrary } from '../model/arbitrary.ts';
import { EMPTY_BUNDLE } from '../model/bundle.ts';
import { holdsRecords, storeSettings } from '../model/deployment.ts';
import { absorb, emptyModel } from '../model/model.ts';
import { questionsAbout } from '../model/questions.ts';
import { IS_LONG, runs } from '../model/runs.ts';
import { STORAGES } from '../storage.ts';
import { ADA, RHETORIC, WORLD, WORLD_QUESTIONS, WORLD_SCOPES, WORLD_SETTINGS } from '../world.ts';
import {
  type Asked,
  answersOf,
  contentsOf,
  ledgersOf,
  makePlain,
  openStation,
  type Station,
} from './stations.ts';

const [EMBEDDED, RESIDENT, POSTGRES] = STORAGES;

describe('an organization that goes from DuckDB to PostgreSQL, on to DuckDB, and to each kind of its own', () => {
  let stations: readonly Station[];
  before(async () => {
    // Every kind of step: embedded to database, database to database, database to embedded, embedded to embedded.
    const kinds = [EMBEDDED, POSTGRES, POSTGRES, EMBEDDED, RESIDENT];
    stations = await Promise.all(kinds.map(openStation));
  });
  after(() => Promise.all(stations.map((station) => station.close())));

  const first = () => stations[0]!;
  const travel = async (name: string) => {
    for (const [at, station] of stations.slice(1).entries()) {
      await stations[at]!.asPlace((from) =>
        station.asPlace((to) => copyAll(from, to, { organization: [name], keys: true })),
      );
    }
  };
  /** What every station says, which must be the same. */
  const sameEverywhere = async <T>(
    told: (station: Station) => Promise<T>,
    asked: readonly Station[] = stations,
  ): Promise<T> => {
    const [original, ...copies] = await Promise.all(asked.map(told));
    for (const copy of copies) assert.deepEqual(copy, original);
    return original!;
  };
  const makeKey = async (organization: string, scope: Scope, redacted: boolean): Promise<string> => {
    const redact = { email: redacted, name: redacted, id: redacted };
    return (await first().keyring.create({ organization, label: 'key', scope, redact }, Date.now() + 1e9))
      .key;
  };
  const withoutTag = (line: string) => line.replace(/^(\S+ \S+) \S+/, '$1');
  /** Versions are named anew by each station. */
  const contentsWithoutVersions = async (station: Station, organization: string) => {
    const { entry, counts, tables } = await contentsOf(station, organization);
    return { tables, counts, settings: entry.settings };
  };

  it('is the same in every row, answer, tag and cursor, its keys open it, and a further import does the same', async () => {
    const name = 'Harbor';
    await first().store.createOrganization(name, storeSettings(WORLD_SETTINGS));
    await makePlain(first(), name);
    await first().load(name, WORLD);
    await first().load(name, { ...EMPTY_BUNDLE, boards: [{ id: RHETORIC, title: 'Rhetorics' }] });
    const keys = await Promise.all(
      [FULL_SCOPE, WORLD_SCOPES.boards, FULL_SCOPE].map((scope, at) => makeKey(name, scope, at === 2)),
    );
    const revoked = await makeKey(name, FULL_SCOPE, false);
    await first().keyring.revoke(revoked.split('_')[1]!);
    await first().keyring.rotate(keys[0]!.split('_')[1]!, 1e8);
    const asked: Asked = {
      keys: [...keys, revoked],
      questions: WORLD_QUESTIONS,
      ways: [
        ['a', {}],
        ['b', { startMs: 0 }],
      ],
    };
    await travel(name);
    await sameEverywhere((station) => contentsOf(station, name));
    await sameEverywhere((station) => ledgersOf(station, name));
    for (const { store } of stations) assert.equal((await store.organization(name)).derivedIds, 'plain');
    const answers = await sameEverywhere((station) => answersOf(station, asked));
    assert.ok(answers.some((line) => line.includes('"Rhetorics"') && line.includes(' 200 "')));
    const more = {
      ...EMPTY_BUNDLE,
      users: WORLD.users.map((user) => (user.id === ADA ? { ...user, name: 'Ada Byron' } : user)),
      events: [...WORLD.events, ...WORLD.events.slice(4, 6)],
    };
    await Promise.all(stations.map((station) => station.load(name, more)));
    await sameEverywhere((station) => contentsWithoutVersions(station, name));
    const again = { ...asked, keys: keys.slice(0, 1) };
    await sameEverywhere(async (station) => (await answersOf(station, again)).map(withoutTag));
  });

  let worlds = 0;
  it('is the same, whatever it is', async () => {
    const property = fc.asyncProperty(
      ...([organizationArbitrary, scopeArbitrary, rangeArbitrary] as const),
      async (plan, scope, range) => {
        worlds += 1;
        const name = `world-${worlds}`;
        const { settings } = await first().store.createOrganization(name, storeSettings(plan.settings));
        const bundles = plan.bundles.filter(holdsRecords);
        for (const bundle of bundles.slice(0, -1)) await first().load(name, bundle);
        const keys = [await makeKey(name, FULL_SCOPE, false), await makeKey(name, scope, true)];
        await travel(name);
        const model = bundles.reduce(absorb, emptyModel({ ...plan.settings, id: settings.id }));
        const asked: Asked = {
          keys,
          questions: questionsAbout(model),
          ways: [
            ['a', {}],
            ['b', range],
          ],
        };
        await sameEverywhere((station) => contentsOf(station, name));
        await sameEverywhere((station) => ledgersOf(station, name));
        // Of the stations between, which have the same contents, the test above compares the answers.
        const ends = IS_LONG ? stations : [first(), stations.at(-1)!];
        await sameEverywhere((station) => answersOf(station, asked), ends);
        const last = bundles.at(-1);
        if (last === undefined) return;
        await Promise.all(stations.map((station) => station.load(name, last)));
        await sameEverywhere((station) => ledgersOf(station, name));
        await sameEverywhere((station) => contentsWithoutVersions(station, name));
      },
    );
    await fc.assert(property, runs(2));
  });
});
