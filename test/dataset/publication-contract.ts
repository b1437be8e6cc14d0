/** The contract of publications for every store: settings, all or nothing, one at a time. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Store } from '../../src/store/store.ts';
import { eventsInWords, openPublished, publishRecords, WORLD } from './small-world.ts';
import { code } from './store-contract.ts';

const FOLLOW = { type: 'board', action: 'followed', ownerId: 1n, actorId: 1n, boardId: 7n, timestampMs: 1 };
/** Has the small world; no test adds records. */
const ORGANIZATION = 'acme';

export function describePublication(name: string, openStore: () => Promise<Store>): void {
  describe(`${name}: a publication`, () => {
    let store: Store;
    before(async () => {
      store = await openStore();
      await store.createOrganization(ORGANIZATION, {});
      await publishRecords(store, ORGANIZATION, WORLD);
    });
    after(() => store.close());

    it('decision 29: with the same records changes nothing, not even the version', async () => {
      const version = await store.currentVersion(ORGANIZATION);
      const outcome = await publishRecords(store, ORGANIZATION, WORLD);
      assert.equal(outcome.published, false);
      assert.deepEqual(outcome.changes.events, { added: 0, changed: 0, unchanged: 5, deleted: 0 });
      assert.deepEqual(outcome.changes.users, { added: 0, changed: 0, unchanged: 5, deleted: 0 });
      assert.equal(await store.currentVersion(ORGANIZATION), version);
    });

    it('leaves no trace when it is discarded', async () => {
      const version = await store.currentVersion(ORGANIZATION);
      const publication = await store.beginPublication(ORGANIZATION, { waitMs: 0 });
      await publication.stage('events', [{ file: 0, line: 1, ...FOLLOW }]);
      await publication.check(() => assert.fail('nothing is wrong'));
      assert.equal((await publication.preview()).changes.events.added, 1);
      await publication.discard();
      assert.equal(await store.currentVersion(ORGANIZATION), version);
      const dataset = await openPublished(store, ORGANIZATION);
      assert.equal((await eventsInWords(dataset)).length, 5);
      await dataset.close();
    });

    it('waits for a publication of the same organization or gives up, and ignores those of other organizations', async () => {
      const [one, two] = [ORGANIZATION, 'beside'];
      await store.createOrganization(two, {});
      const first = await store.beginPublication(one, { waitMs: 0 });
      await assert.rejects(store.beginPublication(one, { waitMs: 0 }), code('organization-busy'));
      await (await store.beginPublication(two, { waitMs: 0 })).discard();
      let waited = 0;
      const second = store.beginPublication(one, {
        waitMs: 60_000,
        onWait: () => {
          waited += 1;
          void first.discard();
        },
      });
      await (await second).discard();
      assert.equal(waited, 1);
    });

    it('makes a version from settings alone', async () => {
      const policy = JSON.stringify({ rules: [{ on: 'pin.visited', to: 'owner', points: 4 }] });
      const before = await openPublished(store, ORGANIZATION);
      await before.close();
      const outcome = await publishRecords(
        store,
        ORGANIZATION,
        {},
        { policy, title: 'Renamed', courseLookup: true, userPointsKey: 'board-id' },
      );
      assert.ok(outcome.published);
      const dataset = await openPublished(store, ORGANIZATION);
      assert.equal(dataset.organization.title, 'Renamed');
      assert.equal(dataset.policy, policy);
      assert.equal(dataset.lookups.course, true);
      assert.equal(dataset.userPointsKey, 'board-id');
      assert.equal(dataset.lastSequence, before.lastSequence + 1);
      await dataset.close();
      assert.equal((await store.organization(ORGANIZATION)).settings.title, 'Renamed');
    });

    it('of settings for an organization without data keeps them and makes no version', async () => {
      await store.createOrganization('empty', {});
      const outcome = await publishRecords(store, 'empty', {}, { domain: 'empty.example' });
      assert.deepEqual([outcome.published, outcome.version], [false, undefined]);
      assert.equal((await store.organization('empty')).settings.domain, 'empty.example');
      assert.equal(await store.openDataset('empty'), undefined);
    });

    it('refuses a malformed policy', async () => {
      await assert.rejects(
        publishRecords(store, ORGANIZATION, {}, { policy: '{' }),
        code('policy-malformed'),
      );
    });
  });
}
