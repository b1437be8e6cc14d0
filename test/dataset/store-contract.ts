/**
 * The contract of stores, as one suite. The test of each store calls it with a function that opens
 * an empty store.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Dataset } from '../../src/dataset/dataset.ts';
import type { AppError } from '../../src/domain/app-error.ts';
import type { Scope } from '../../src/domain/scope.ts';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import type { Store } from '../../src/store/store.ts';
import { BIG, eventsInWords, idsOf, openPublished, publishRecords, WORLD } from './small-world.ts';

const ALL = { scope: FULL_SCOPE, range: {} };
const BOARD_7: Scope = { boards: [7n], users: 'of-boards' };

export function describeStore(name: string, openStore: () => Promise<Store>): void {
  describe(`${name}: organizations`, () => {
    let store: Store;
    before(async () => {
      store = await openStore();
    });
    after(() => store.close());

    it('get the next free id, their name as title, and empty settings', async () => {
      await store.createOrganization('first', {});
      const second = await store.createOrganization('second', {
        title: 'Second',
        domain: 'x.example',
        categoryId: 4n,
      });
      assert.deepEqual(second.settings, {
        id: 2n,
        title: 'Second',
        domain: 'x.example',
        categoryId: 4n,
        courseLookup: false,
        lmsUserProperties: [],
        userPointsKey: 'user-id',
        policy: '',
      });
      assert.deepEqual(
        (await store.organizations()).map((entry) => entry.name),
        ['first', 'second'],
      );
    });

    it('are unique by name, ignoring case; two may have the same id, as copies do', async () => {
      await assert.rejects(store.createOrganization('FIRST', {}), code('organization-exists'));
      const copy = await store.createOrganization('copy of second', { id: 2n });
      assert.equal(copy.settings.id, 2n);
    });

    it('can have a longest life of keys, which publishes no version and is not touched by publications', async () => {
      const { name } = await store.createOrganization('limited', {});
      assert.equal((await store.organization(name)).rules.longestKeyLifeMs, undefined);
      await store.changeRules('LIMITED', { longestKeyLifeMs: 90 * 86_400_000 });
      const entry = await store.organization(name);
      assert.deepEqual([entry.rules.longestKeyLifeMs, entry.version], [90 * 86_400_000, undefined]);
      await publishRecords(store, name, WORLD, { title: 'Limited' });
      const published = await store.organization(name);
      assert.deepEqual(
        [published.rules.longestKeyLifeMs, published.settings.title],
        [90 * 86_400_000, 'Limited'],
      );
      await store.changeRules(name, { longestKeyLifeMs: undefined });
      const { rules, version } = await store.organization(name);
      assert.deepEqual([rules.longestKeyLifeMs, version], [undefined, published.version]);
      await assert.rejects(store.changeRules('none', {}), code('organization-unknown'));
    });

    it('cannot have a name that is not a valid folder name', async () => {
      for (const bad of ['', '.', '..', 'a/b', 'a\\b', '-a', ' a', 'a ', 'a\n', 'x'.repeat(65)]) {
        await assert.rejects(
          store.createOrganization(bad, {}),
          code('organization-malformed'),
          JSON.stringify(bad),
        );
      }
    });

    it('keep 64-bit ids exactly', async () => {
      const { settings } = await store.createOrganization('huge', {
        id: 2n ** 63n - 1n,
        categoryId: -(2n ** 63n),
      });
      assert.deepEqual([settings.id, settings.categoryId], [2n ** 63n - 1n, -(2n ** 63n)]);
    });

    it('are refused if they are unknown', async () => {
      await assert.rejects(store.organization('unknown'), code('organization-unknown'));
      await assert.rejects(store.beginPublication('unknown', { waitMs: 0 }), code('organization-unknown'));
    });

    it('have no version and no dataset before the first publication', async () => {
      assert.equal(await store.currentVersion('first'), undefined);
      assert.equal(await store.openDataset('first'), undefined);
    });
  });

  describe(`${name}: a dataset`, () => {
    let store: Store;
    let dataset: Dataset;
    before(async () => {
      store = await openStore();
      await store.createOrganization('acme', {
        id: 77n,
        title: 'Acme',
        domain: 'acme.example',
        categoryId: 3n,
      });
      const { problems } = await publishRecords(store, 'acme', WORLD);
      assert.deepEqual(problems, []);
      dataset = await openPublished(store, 'acme');
    });
    after(async () => {
      await dataset.close();
      await store.close();
    });

    const people = async (indices: Int32Array) => {
      const ids = await idsOf(dataset.records('users'));
      return [...indices].map((index) => ids[index]);
    };
    const board = async (id: bigint) => (await dataset.findBoard(FULL_SCOPE, { by: 'id', value: id })) ?? -1;
    const user = async (id: bigint) => (await dataset.findUser(FULL_SCOPE, { by: 'id', value: id })) ?? -1;

    it('has the organization and the counts of its records', () => {
      assert.deepEqual(dataset.organization, {
        id: 77n,
        title: 'Acme',
        domain: 'acme.example',
        categoryId: 3n,
      });
      assert.deepEqual(dataset.counts, { events: 5, users: 5, boards: 3, pins: 1 });
      assert.equal(dataset.lastSequence, 5);
    });

    it('decision 4: returns events by timestamp, ties in order of import', async () => {
      assert.deepEqual(await eventsInWords(dataset), [
        `pin.commented ${BIG} 8 -500`,
        'board.followed 3 7 2000',
        'pin.visited 1 7 3000',
        'pin.created 1 7 3000',
        'board.unfollowed 3 7 4000',
      ]);
    });

    it('decision 5: includes the start of a range and excludes its end', async () => {
      assert.equal((await eventsInWords(dataset, { range: { startMs: 2_000, endMs: 3_000 } })).length, 1);
      assert.equal((await eventsInWords(dataset, { range: { startMs: 3_000, endMs: 3_000 } })).length, 0);
      assert.equal((await eventsInWords(dataset, { range: { startMs: 3_000 } })).length, 3);
      assert.equal((await eventsInWords(dataset, { range: { endMs: 0 } })).length, 1);
    });

    it('filters events by pins, kinds, board, actor, position and sequence number', async () => {
      assert.equal((await eventsInWords(dataset, { pinsOnly: true })).length, 3);
      const visits = dataset.kinds.flatMap(({ action }, index) => (action === 'visited' ? [index] : []));
      const visited = (await eventsInWords(dataset, {})).filter((words) => words.includes('.visited'));
      assert.deepEqual(await eventsInWords(dataset, { kinds: visits }), visited);
      assert.deepEqual(await eventsInWords(dataset, { kinds: [] }), []);
      assert.equal((await eventsInWords(dataset, { board: await board(7n) })).length, 4);
      assert.equal((await eventsInWords(dataset, { actor: await user(BIG) })).length, 1);
      assert.deepEqual(
        await eventsInWords(dataset, { after: { timestampMs: 3_000, sequence: 1 }, limit: 1 }),
        ['pin.created 1 7 3000'],
      );
      assert.equal((await eventsInWords(dataset, { upToSequence: 2 })).length, 2);
    });

    it('decision 12: shows an event if its board, its actor and its owner are visible', async () => {
      const count = async (scope: Scope) => (await eventsInWords(dataset, { scope })).length;
      assert.equal(await count(BOARD_7), 4);
      assert.equal(await count({ boards: 'all', users: [1n] }), 1);
      assert.equal(await count({ boards: 'all', users: [1n, 5n] }), 2);
      assert.equal(await count({ boards: [8n], users: [1n, BIG] }), 1);
      assert.equal(await count({ boards: [], users: 'all' }), 0);
      assert.equal(await count({ boards: 'all', users: [] }), 0);
      assert.equal(await count({ boards: [12345n], users: 'of-boards' }), 0);
    });

    it('tallies the events that it returns, for every scope', async () => {
      for (const scope of [FULL_SCOPE, BOARD_7, { boards: 'all', users: [1n] } as const]) {
        const query = { scope, range: { startMs: -1_000, endMs: 4_000 } };
        const tally = await dataset.tally(query);
        const seen = { events: 0, actor: new Map<number, number>(), pin: new Map<number, number>() };
        for await (const batch of dataset.events(query)) {
          seen.events += batch.count;
          for (const actor of batch.actor) seen.actor.set(actor, (seen.actor.get(actor) ?? 0) + 1);
          for (const pin of batch.pin) if (pin >= 0) seen.pin.set(pin, (seen.pin.get(pin) ?? 0) + 1);
        }
        assert.equal(tally.events, seen.events);
        assert.deepEqual(occurrences(tally.actor), sorted(seen.actor));
        assert.deepEqual(occurrences(tally.pin), sorted(seen.pin));
      }
    });

    it('lists users and boards inside the scope, ascending by id', async () => {
      assert.deepEqual(await people(await dataset.list('users', ALL)), [1n, 3n, 4n, 5n, BIG]);
      assert.deepEqual(await people(await dataset.list('users', { ...ALL, scope: BOARD_7 })), [
        1n,
        3n,
        4n,
        5n,
      ]);
      assert.deepEqual(await people(await dataset.list('users', { ...ALL, afterId: 3n, limit: 2 })), [
        4n,
        5n,
      ]);
      assert.equal((await dataset.list('boards', { ...ALL, scope: BOARD_7 })).length, 1);
    });

    it('decision 35: lists by creation, else by the first event; records with neither are in no range', async () => {
      const created = async (startMs: number, endMs: number) =>
        await people(await dataset.list('users', { scope: FULL_SCOPE, range: { startMs, endMs } }));
      assert.deepEqual(await created(1_000, 1_001), [5n]);
      assert.deepEqual(await created(3_000, 3_001), [1n]);
      assert.deepEqual(await created(-(10 ** 12), 10 ** 12), [1n, 3n, 5n, BIG]);
      const boards = await dataset.list('boards', {
        scope: FULL_SCOPE,
        range: { startMs: 2_000, endMs: 5_000 },
      });
      assert.deepEqual([...boards], [await board(7n)]);
    });

    it('finds boards and users by every kind of name, and nothing outside the scope', async () => {
      assert.equal(await dataset.findBoard(FULL_SCOPE, { by: 'lti', value: 'lti-8' }), await board(8n));
      assert.equal(await dataset.findBoard(FULL_SCOPE, { by: 'course', value: 'C 8' }), await board(8n));
      assert.equal(await dataset.findBoard(FULL_SCOPE, { by: 'course', value: '' }), undefined);
      assert.equal(await dataset.findBoard(BOARD_7, { by: 'lti', value: 'lti-8' }), undefined);
      assert.equal(
        await dataset.findUser(FULL_SCOPE, { by: 'lms', property: 'sis', value: 'B-1' }),
        await user(BIG),
      );
      assert.equal(await dataset.findUser(BOARD_7, { by: 'lms', property: 'sis', value: 'B-1' }), undefined);
      assert.equal(await dataset.findUser(BOARD_7, { by: 'id', value: BIG }), undefined);
      assert.equal(await dataset.findUser(FULL_SCOPE, { by: 'id', value: 99n }), undefined);
    });

    it('decisions 10, 25, 26, 71: returns the points totals of the users on a board', async () => {
      const standings = async (query: Partial<Parameters<Dataset['standings']>[0]>, id: bigint) => {
        const found = await dataset.standings({ ...ALL, of: { board: await board(id) }, ...query });
        const users = await people(found.user);
        return users.map((who, row) => `${who}: ${found.totalPoints[row]}, ${found.participationScore[row]}`);
      };
      assert.deepEqual(await standings({}, 7n), ['1: 7, 7', '4: 0, 0']);
      assert.deepEqual(await standings({}, 8n), ['5: 42, 7', `${BIG}: 5, 5`]);
      assert.deepEqual(await standings({ range: { endMs: 3_500 } }, 7n), ['1: 10, 10', '4: 0, 0']);
      assert.deepEqual(await standings({ range: { startMs: 3_500 } }, 7n), ['1: 0, 0', '4: 0, 0']);
      assert.deepEqual(await standings({ range: { startMs: 3_000, endMs: 3_000 }, scope: BOARD_7 }, 7n), []);
      // The only event on board 8 is at -500.
      for (const range of [{ startMs: -500 }, { endMs: -499 }, { startMs: -1_000, endMs: 0 }])
        assert.deepEqual(await standings({ range }, 8n), ['5: 42, 7', `${BIG}: 5, 5`]);
      assert.deepEqual(await standings({ range: { startMs: -499 } }, 8n), ['5: 0, 0', `${BIG}: 0, 0`]);
      assert.deepEqual(await standings({ range: { endMs: -500 } }, 8n), ['5: 0, 0', `${BIG}: 0, 0`]);
      // A key that cannot see the event sees a board without events.
      const ofEve: Scope = { boards: 'all', users: [5n] };
      assert.deepEqual(await standings({ range: { startMs: 9_000 }, scope: ofEve }, 8n), ['5: 42, 7']);
      assert.deepEqual(await standings({ scope: { boards: 'all', users: [4n] } }, 7n), ['4: 0, 0']);
      assert.deepEqual(await standings({ scope: { boards: [8n], users: 'all' } }, 7n), []);
    });

    it('decision 27: explains a points total by its ledger', async () => {
      const ledger = await dataset.ledger({
        scope: FULL_SCOPE,
        board: await board(7n),
        user: await user(1n),
      });
      assert.deepEqual(
        ledger.lines.map((line) => [line.kind.action, line.points, line.outcome, line.pinId]),
        [['created', 10, 'counted', 70n]],
      );
      assert.deepEqual(ledger.adjustments, [{ timestampMs: 3_500, points: -3, reason: 'late' }]);
      assert.deepEqual(ledger.standing, { totalPoints: 7, participationScore: 7 });
      const imported = await dataset.ledger({
        scope: FULL_SCOPE,
        board: await board(8n),
        user: await user(5n),
      });
      assert.deepEqual(imported.imported, { totalPoints: 42, participationScore: 7 });
    });

    it('does not change when the next version is published', async () => {
      const before = await eventsInWords(dataset);
      const outcome = await publishRecords(store, 'acme', {
        users: [{ id: 1n, email: 'new@x.example' }],
        events: [
          { type: 'board', action: 'followed', ownerId: 5n, actorId: 1n, boardId: 9n, timestampMs: 2_500 },
        ],
      });
      assert.ok(outcome.published);
      assert.deepEqual(await eventsInWords(dataset), before);
      const next = await openPublished(store, 'acme');
      assert.equal((await eventsInWords(next)).length, 6);
      assert.equal(next.lastSequence, 6);
      assert.notEqual(next.version, dataset.version);
      assert.equal(await store.currentVersion('acme'), next.version);
      await next.close();
    });
  });
}

function occurrences({ index, count }: { index: Int32Array; count: Float64Array }): [number, number][] {
  return sorted(new Map([...index].map((value, row) => [value, count[row] ?? 0])));
}

function sorted(map: Map<number, number>): [number, number][] {
  return [...map].sort(([a], [b]) => a - b);
}

export function code(expected: AppError['code']): (error: AppError) => boolean {
  return (error) => {
    assert.equal(error.code, expected);
    return true;
  };
}
