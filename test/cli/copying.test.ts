/** Organizations copied from a folder to a database and on to other stores: the same in each. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { copyAll } from '../../src/cli/commands/copy.ts';
import { FULL_SCOPE, type Scope } from '../../src/domain/scope.ts';
import { IS_LONG } from '../long.ts';
import { organizationArbitrary, rangeArbitrary, scopeArbitrary } from '../model/arbitrary.ts';
import { EMPTY_BUNDLE } from '../model/bundle.ts';
import { holdsRecords, storeSettings } from '../model/deployment.ts';
import { absorb, emptyModel } from '../model/model.ts';
import { questionsAbout } from '../model/questions.ts';
import { runs } from '../model/runs.ts';
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

describe('an organization that is copied from DuckDB to PostgreSQL, back to DuckDB, and within each kind', () => {
  let stations: readonly Station[];
  before(async () => {
    // Every kind of step, in both directions and within a kind: embedded and database.
    const kinds = [EMBEDDED, POSTGRES, POSTGRES, EMBEDDED, RESIDENT];
    stations = await Promise.all(kinds.map(openStation));
  });
  after(() => Promise.all(stations.map((station) => station.close())));

  const first = () => stations[0]!;
  /** From the first to a database and back: outside of long runs enough for what follows a copy. */
  const thereAndBack = () => (IS_LONG ? stations : [first(), stations[1]!, stations[3]!]);
  const travel = async (name: string, visited = stations) => {
    for (const [at, station] of visited.slice(1).entries()) {
      await visited[at]!.asPlace((from) =>
        station.asPlace((to) => copyAll(from, to, { organization: [name], keys: true })),
      );
    }
  };
  /** The common result of every station; fails if any differs. */
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
    const grant = { organization, label: 'key', scope, redact, networks: ['127.0.0.0/8', '::1'] };
    return (await first().keyring.create(grant, Date.now() + 1e9)).key;
  };
  const damageOf = async ({ asPlace }: Station, name: string) => {
    const messages: string[] = [];
    await asPlace(({ store }) =>
      store.check(
        [name],
        ({ level, message }) => {
          if (level === 'damage') messages.push(message);
        },
        { onBytes: () => undefined },
      ),
    );
    return messages;
  };
  const withoutTag = (line: string) => line.replace(/^(\S+ \S+) \S+/, '$1');
  /** Without version names, which each station assigns itself. */
  const contentsWithoutVersions = async (station: Station, organization: string) => {
    const { entry, counts, tables } = await contentsOf(station, organization);
    return { tables, counts, settings: entry.settings };
  };

  it('has the same rows, responses, tags, cursors and keys everywhere, and a further import has the same result', async () => {
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
    const loaded = thereAndBack();
    await Promise.all(loaded.map((station) => station.load(name, more)));
    await sameEverywhere((station) => contentsWithoutVersions(station, name), loaded);
    const again = { ...asked, keys: keys.slice(0, 1) };
    await sameEverywhere(async (station) => (await answersOf(station, again)).map(withoutTag), loaded);
  });

  let worlds = 0;
  it('is the same everywhere for random data', async () => {
    const property = fc.asyncProperty(
      ...([organizationArbitrary, scopeArbitrary, rangeArbitrary] as const),
      async (plan, scope, range) => {
        worlds += 1;
        const visited = thereAndBack();
        const name = `world-${worlds}`;
        const { settings } = await first().store.createOrganization(name, storeSettings(plan.settings));
        const bundles = plan.bundles.filter(holdsRecords);
        for (const bundle of bundles.slice(0, -1)) await first().load(name, bundle);
        const keys = [await makeKey(name, FULL_SCOPE, false), await makeKey(name, scope, true)];
        await travel(name, visited);
        const model = bundles.reduce(absorb, emptyModel({ ...plan.settings, id: settings.id }));
        const asked: Asked = {
          keys,
          questions: questionsAbout(model),
          ways: [
            ['a', {}],
            ['b', range],
          ],
        };
        await sameEverywhere((station) => contentsOf(station, name), visited);
        await sameEverywhere((station) => ledgersOf(station, name), visited);
        // The test above also compares the responses of the stations between, whose contents are
        // the same.
        const ends = IS_LONG ? visited : [first(), visited.at(-1)!];
        await sameEverywhere((station) => answersOf(station, asked), ends);
        const last = bundles.at(-1);
        if (last === undefined) return;
        await Promise.all(visited.map((station) => station.load(name, last)));
        for (const station of ends) assert.deepEqual(await damageOf(station, name), []);
        await sameEverywhere((station) => ledgersOf(station, name), visited);
        await sameEverywhere((station) => contentsWithoutVersions(station, name), visited);
      },
    );
    await fc.assert(property, runs(2));
  });
});
