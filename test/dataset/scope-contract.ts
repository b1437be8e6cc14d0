/** The contract of scopes for both ways to read: of lists, points and deleted events. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Dataset } from '../../src/dataset/dataset.ts';
import type { EventQuery } from '../../src/dataset/query.ts';
import { FULL_SCOPE, type Scope } from '../../src/domain/scope.ts';
import { forgetUsers } from '../../src/store/forgotten.ts';
import type { Store } from '../../src/store/store.ts';
import { idsOf, openPublished, placed, publishRecords, WORLD } from './small-world.ts';

export function describeScopes(name: string, openStore: () => Promise<Store>): void {
  describe(`${name}: a scope`, () => {
    let store: Store;
    before(async () => {
      store = await openStore();
    });
    after(() => store.close());

    it('decision 35: lists users and boards by the first event inside it if no creation date was imported', async () => {
      await store.createOrganization('acme', {});
      await publishRecords(store, 'acme', WORLD);
      const dataset = await openPublished(store, 'acme');
      const people = async (indices: Int32Array) => {
        const ids = await idsOf(dataset.records('users'));
        return [...indices].map((index) => ids[index]);
      };
      const board = async (id: bigint) =>
        (await dataset.findBoard(FULL_SCOPE, { by: 'id', value: id })) ?? -1;
      const always = { startMs: -(10 ** 12), endMs: 10 ** 12 };
      const ofBoard7: Scope = { boards: [7n], users: 'all' };
      assert.deepEqual(await people(await dataset.list('users', { scope: ofBoard7, range: always })), [
        1n,
        3n,
        5n,
      ]);
      const ofAnn: Scope = { boards: 'all', users: [1n] };
      const created = async (startMs: number) => [
        ...(await dataset.list('boards', { scope: ofAnn, range: { startMs, endMs: startMs + 1 } })),
      ];
      assert.deepEqual(await created(2_000), []);
      assert.deepEqual(await created(3_000), [await board(7n)]);
      assert.deepEqual(await created(5_000), [await board(8n)]);
      await dataset.close();
    });

    it('decision 50: hides awards outside it from a ledger, and their effect on other awards', async () => {
      const [week, hour] = [7 * 86_400_000, 3_600_000];
      const comment = (actorId: bigint, timestampMs: number) => ({
        ...{ type: 'pin', action: 'commented', ownerId: 1n, actorId, boardId: 7n, pinId: 70n, timestampMs },
      });
      const rules = [{ on: 'pin.commented', to: 'owner', points: 5 }];
      await store.createOrganization('judged', { policy: JSON.stringify({ rules, weeklyMaximum: 8 }) });
      await publishRecords(store, 'judged', {
        users: [1n, 2n, 3n].map((id) => ({ id, email: `${id}@x.example`, name: `User ${id}` })),
        boards: [{ id: 7n, title: 'Seven' }],
        pins: [{ id: 70n, boardId: 7n, ownerId: 1n, title: 'Pin' }],
        events: [comment(3n, hour), comment(2n, 2 * hour), comment(2n, 3 * hour), comment(3n, week)],
      });
      const judged = await openPublished(store, 'judged');
      const explained = async (scope: Scope) => {
        const { lines, otherPoints, standing } = await judged.ledger({ scope, board: 0, user: 0 });
        const told = lines.map(({ actorId, outcome }) => `${actorId} ${outcome}`);
        return { told, otherPoints, total: standing?.totalPoints };
      };
      const seen = ['2 counted', '2 counted'];
      assert.deepEqual(await explained(FULL_SCOPE), {
        told: ['3 counted', '2 counted', '2 weekly-maximum', '3 counted'],
        ...{ otherPoints: 0, total: 15 },
      });
      for (const users of [[1n, 2n], [1n]]) {
        const told = users.length === 2 ? seen : [];
        const otherPoints = users.length === 2 ? 5 : 15;
        assert.deepEqual(await explained({ boards: 'all', users }), { told, otherPoints, total: 15 });
      }
      assert.deepEqual((await explained({ boards: [], users: 'all' })).told, []);
      await judged.close();
    });

    it('decisions 12, 72: does not make a user visible because of points', async () => {
      const rules = [{ on: 'pin.commented', to: 'owner', points: 5 }];
      await store.createOrganization('paid', { policy: JSON.stringify({ rules }) });
      const pin = { type: 'pin', action: 'commented', pinId: 70n, timestampMs: 5 };
      await publishRecords(store, 'paid', {
        users: [1n, 2n, 3n, 4n].map((id) => ({ id, email: `${id}@x.example`, name: `User ${id}` })),
        boards: [7n, 8n].map((id) => ({ id, title: `Board ${id}` })),
        pins: [{ id: 70n, title: 'Pin' }],
        events: [
          { ...pin, ownerId: 1n, actorId: 2n, boardId: 7n },
          // One owner left the board, and one is forgotten below.
          { ...pin, ownerId: 2n, actorId: 1n, boardId: 8n },
          { type: 'board', action: 'unfollowed', ownerId: 1n, actorId: 2n, boardId: 8n, timestampMs: 6 },
          { ...pin, ownerId: 4n, actorId: 1n, boardId: 8n },
        ],
        adjustments: [{ userId: 3n, boardId: 7n, points: 4, timestampMs: 5, reason: 'by hand' }],
      });
      await forgetUsers(store, 'paid', [4n], { waitMs: 0 });
      const paid = await openPublished(store, 'paid');
      const mapOf = async (scope: Scope, of: { board: number } | { user: number }) => {
        const { user, board, totalPoints } = await paid.standings({ scope, range: {}, of });
        return Array.from(user, (who, row) => `${who + 1} on ${board[row]! + 7}: ${totalPoints[row]}`);
      };
      const ofBoards: Scope = { boards: [7n, 8n], users: 'of-boards' };
      assert.deepEqual(await mapOf(FULL_SCOPE, { board: 0 }), ['1 on 7: 5', '2 on 7: 0', '3 on 7: 4']);
      assert.deepEqual(await mapOf(FULL_SCOPE, { board: 1 }), ['1 on 8: 0']);
      assert.deepEqual(await mapOf(FULL_SCOPE, { user: 2 }), ['3 on 7: 4']);
      // An adjustment is not activity: a key with this scope does not see the user, in lists
      // either.
      assert.deepEqual(await mapOf(ofBoards, { board: 0 }), ['1 on 7: 5', '2 on 7: 0']);
      assert.deepEqual([...(await paid.list('users', { scope: ofBoards, range: {} }))], [0, 1, 3]);
      assert.equal(await paid.findUser(ofBoards, { by: 'id', value: 3n }), undefined);
      // Points are the same for every key that can see the user.
      assert.deepEqual(await mapOf({ boards: [7n], users: [1n, 3n] }, { board: 0 }), [
        '1 on 7: 5',
        '3 on 7: 4',
      ]);
      assert.deepEqual(await mapOf({ boards: [8n], users: [1n] }, { user: 0 }), ['1 on 8: 0']);
      await paid.close();
    });

    it('decision 82: applies to deleted events as it did before they were deleted, and so do filters', async () => {
      await store.createOrganization('emptied', {});
      const outcome = await publishRecords(store, 'emptied', WORLD);
      const full = await openPublished(store, 'emptied');
      const publication = await store.beginPublication('emptied', { waitMs: 0 });
      await publication.stageDeletions('events', placed(WORLD.events ?? []));
      await publication.check(() => assert.fail('nothing is wrong'));
      assert.notEqual((await publication.publish()).version, outcome.version);
      const emptied = await openPublished(store, 'emptied');
      const everything = { scope: FULL_SCOPE, range: {} };
      const seven = await full.findBoard(FULL_SCOPE, { by: 'id', value: 7n });
      const una = await full.findUser(FULL_SCOPE, { by: 'id', value: 3n });
      const parts: readonly (readonly [Partial<EventQuery>, number])[] = [
        [{}, 5],
        [{ pinsOnly: true }, 3],
        [{ board: seven ?? -1 }, 4],
        [{ actor: una ?? -1 }, 2],
        [{ range: { startMs: 2_000, endMs: 4_000 } }, 3],
        [{ scope: { boards: [8n], users: 'all' } }, 1],
        [{ scope: { boards: 'all', users: [1n] } }, 1],
        [{ scope: { boards: [7n], users: 'of-boards' } }, 4],
      ];
      for (const [part, count] of parts) {
        const asked = { ...everything, ...part };
        const found = await sequencesOf(full, asked);
        assert.equal(found.length, count);
        assert.deepEqual([...(await emptied.deletedEvents(asked, full.lastSequence, 5))], found);
        assert.deepEqual(await sequencesOf(emptied, asked), []);
      }
      assert.equal((await emptied.deletedEvents(everything, full.lastSequence, 2)).length, 2);
      await Promise.all([full.close(), emptied.close()]);
    });
  });
}

/** Ascending. */
async function sequencesOf(dataset: Dataset, query: EventQuery): Promise<number[]> {
  const found: number[] = [];
  for await (const { sequence } of dataset.events(query)) found.push(...sequence);
  return found.toSorted((one, other) => one - other);
}
