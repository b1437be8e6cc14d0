/**
 * What every store promises about what a scope hides, beside the events themselves; part of the
 * contract of stores.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { FULL_SCOPE, type Scope } from '../../src/dataset/scope.ts';
import type { Store } from '../../src/dataset/store.ts';
import { idsOf, openPublished, publishRecords, WORLD } from './small-world.ts';

export function describeScopes(name: string, openStore: () => Promise<Store>): void {
  describe(`${name}: a scope`, () => {
    let store: Store;
    before(async () => {
      store = await openStore();
    });
    after(() => store.close());

    it('decision 35: lists by the first event inside it, where no date was imported', async () => {
      await store.createOrganization('acme', {});
      await publishRecords(store, 'acme', WORLD);
      const dataset = await openPublished(store, 'acme');
      const people = async (indices: Int32Array) => {
        const ids = await idsOf(dataset.people());
        return [...indices].map((index) => ids[index]);
      };
      const board = async (id: bigint) =>
        (await dataset.findBoard(FULL_SCOPE, { by: 'id', value: id })) ?? -1;
      const always = { startMs: -(10 ** 12), endMs: 10 ** 12 };
      const ofBoard7: Scope = { boards: [7n], users: 'all' };
      assert.deepEqual(await people(await dataset.listUsers({ scope: ofBoard7, range: always })), [
        1n,
        3n,
        5n,
      ]);
      const ofAnn: Scope = { boards: 'all', users: [1n] };
      const created = async (startMs: number) => [
        ...(await dataset.listBoards({ scope: ofAnn, range: { startMs, endMs: startMs + 1 } })),
      ];
      assert.deepEqual(await created(2_000), []);
      assert.deepEqual(await created(3_000), [await board(7n)]);
      assert.deepEqual(await created(5_000), [await board(8n)]);
      await dataset.close();
    });

    it('decision 50: leaves awards outside it out of a ledger, and what they change about others', async () => {
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
        ...{ otherPoints: 0, total: undefined },
      });
      for (const users of [[1n, 2n], [1n]]) {
        const told = users.length === 2 ? seen : [];
        const otherPoints = users.length === 2 ? 5 : 15;
        assert.deepEqual(await explained({ boards: 'all', users }), { told, otherPoints, total: undefined });
      }
      assert.deepEqual((await explained({ boards: [], users: 'all' })).told, []);
      await judged.close();
    });
  });
}
