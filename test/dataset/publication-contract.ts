/** The contract of publications for every store: checks, merging, all or nothing, one at a time. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Store } from '../../src/store/store.ts';
import { everybodyOf } from './record-columns.ts';
import { eventsInWords, openPublished, publishRecords, type Records, WORLD } from './small-world.ts';
import { code } from './store-contract.ts';

const FOLLOW = { type: 'board', action: 'followed', ownerId: 1n, actorId: 1n, boardId: 7n, timestampMs: 1 };

export function describePublication(name: string, openStore: () => Promise<Store>): void {
  describe(`${name}: a publication`, () => {
    let store: Store;
    let organizations = 0;
    before(async () => {
      store = await openStore();
    });
    after(() => store.close());

    const newOrganization = async (records: Records = WORLD) => {
      organizations += 1;
      const organization = `organization-${organizations}`;
      await store.createOrganization(organization, {});
      await publishRecords(store, organization, records);
      return organization;
    };
    const people = async (organization: string) => {
      const dataset = await openPublished(store, organization);
      const found = await everybodyOf(dataset.records('users'));
      await dataset.close();
      return found;
    };
    const eventCount = async (organization: string) => {
      const dataset = await openPublished(store, organization);
      const { length } = await eventsInWords(dataset);
      await dataset.close();
      return length;
    };

    it('decision 29: with the same records changes nothing, not even the version', async () => {
      const organization = await newOrganization();
      const version = await store.currentVersion(organization);
      const outcome = await publishRecords(store, organization, WORLD);
      assert.equal(outcome.published, false);
      assert.deepEqual(outcome.changes.events, { added: 0, changed: 0, unchanged: 5 });
      assert.deepEqual(outcome.changes.users, { added: 0, changed: 0, unchanged: 5 });
      assert.equal(await store.currentVersion(organization), version);
    });

    it('decision 29: adds the second identical event of one import as a second event, only once', async () => {
      const organization = await newOrganization({ ...WORLD, events: [FOLLOW, FOLLOW] });
      assert.equal(await eventCount(organization), 2);
      await publishRecords(store, organization, { events: [FOLLOW, FOLLOW] });
      assert.equal(await eventCount(organization), 2);
      await publishRecords(store, organization, { events: [FOLLOW, FOLLOW, FOLLOW] });
      assert.equal(await eventCount(organization), 3);
    });

    it('decision 29: identifies events by their id, and events without an id by their fields', async () => {
      const organization = await newOrganization({
        ...WORLD,
        events: [
          { ...FOLLOW, id: 1n },
          { ...FOLLOW, id: 2n },
        ],
      });
      await publishRecords(store, organization, {
        events: [{ ...FOLLOW, id: 2n, timestampMs: 99 }, FOLLOW, FOLLOW],
      });
      assert.equal(await eventCount(organization), 2);
      await publishRecords(store, organization, { events: [{ ...FOLLOW, id: 3n }] });
      assert.equal(await eventCount(organization), 3);
    });

    it('decision 29: numbers events and their kinds as if the refused ones were absent', async () => {
      const organization = await newOrganization();
      const published = async () => {
        const dataset = await openPublished(store, organization);
        await dataset.close();
        return { last: dataset.lastSequence, kinds: dataset.kinds.slice(-2).map(({ action }) => action) };
      };
      const before = await published();
      const events = ['second', 'first', 'second'].map((action) => ({ ...FOLLOW, action }));
      await publishRecords(store, organization, {
        events: [{ ...events[0]!, actorId: 404n }, ...events.slice(1)],
      });
      assert.deepEqual(await published(), { last: before.last + 2, kinds: ['first', 'second'] });
      await publishRecords(store, organization, {
        users: [{ id: 3n, email: '', forgotten: true }],
        events: [
          { ...FOLLOW, actorId: 3n, action: 'third' },
          ...events.map((event) => ({ ...event, timestampMs: 9 })),
        ],
      });
      assert.deepEqual(await published(), { last: before.last + 2 + 3, kinds: ['first', 'second'] });
    });

    it('decision 29: replaces users field by field, and joins and splits names at the last space', async () => {
      const organization = await newOrganization({
        users: [
          { id: 1n, email: 'a@x', name: 'Ann de Bee' },
          { id: 2n, email: 'b@x', firstName: 'Bo Bo', lastName: 'Li', role: 'coadmin' },
          { id: 3n, email: 'c@x', name: 'Cher' },
        ],
      });
      await publishRecords(store, organization, {
        users: [
          { id: 2n, email: 'b2@x', name: 'Bo Bo Li' },
          { id: 1n, email: 'a@x', name: 'Ann Cee' },
        ],
      });
      assert.deepEqual(
        (await people(organization)).map((p) => [p.email, p.name, p.firstName, p.lastName, p.role]),
        [
          ['a@x', 'Ann Cee', 'Ann', 'Cee', 'user'],
          ['b2@x', 'Bo Bo Li', 'Bo Bo', 'Li', 'coadmin'],
          ['c@x', 'Cher', 'Cher', '', 'user'],
        ],
      );
    });

    it('decision 9: refuses a second user of an e-mail address, ignoring case, and names both', async () => {
      const organization = await newOrganization();
      const { problems, published } = await publishRecords(store, organization, {
        users: [
          { id: 50n, email: 'ANN@x.example', name: 'Other Ann' },
          { id: 51n, email: 'twin@x.example', name: 'Twin' },
          { id: 52n, email: 'Twin@x.example', name: 'Second twin' },
        ],
      });
      assert.ok(published);
      assert.deepEqual(
        problems.map(({ line, field, reason }) => [line, field, /1 and 50|51 and 52/.exec(reason)?.[0]]),
        [
          [1, 'email', '1 and 50'],
          [3, 'email', '51 and 52'],
        ],
      );
    });

    it('lets two users swap their addresses', async () => {
      const organization = await newOrganization();
      const { problems } = await publishRecords(store, organization, {
        users: [
          { id: 1n, email: 'eve@x.example' },
          { id: 5n, email: 'ann@x.example' },
        ],
      });
      assert.deepEqual(problems, []);
      assert.deepEqual(
        (await people(organization)).slice(0, 2).map(({ id, email }) => [id, email]),
        [
          [5n, 'ann@x.example'],
          [1n, 'eve@x.example'],
        ],
      );
    });

    it('decision 11: refuses a second board with the same LTI id or course id', async () => {
      const organization = await newOrganization();
      const { problems } = await publishRecords(store, organization, {
        boards: [
          { id: 60n, title: 'Sixty', ltiId: 'lti-7' },
          { id: 61n, title: 'Sixty-one', courseId: 'C 8' },
          { id: 62n, title: 'Sixty-two', ltiId: 'LTI-7' },
        ],
      });
      assert.deepEqual(
        problems.map(({ line, field }) => [line, field]),
        [
          [1, 'lti_id'],
          [2, 'course_id'],
        ],
      );
    });

    it('decision 11: refuses a second user with the same value of an LMS property, also when the property is configured later', async () => {
      const twins: Records = {
        users: [
          { id: 70n, email: 'l@x', name: 'L', lms: { sis: 'same', 'od\'d "one': 'x' } },
          { id: 71n, email: 'r@x', name: 'R', lms: { sis: 'same' } },
        ],
      };
      const free = await newOrganization(twins);
      await assert.rejects(
        publishRecords(store, free, {}, { lmsUserProperties: ['sis'] }),
        (error: Error) => code('settings-refused')(error as never) && /70 and 71/.test(error.message),
      );
      const strict = await newOrganization();
      const { problems } = await publishRecords(store, strict, twins, {
        lmsUserProperties: ['sis', 'od\'d "one'],
      });
      assert.deepEqual(
        problems.map(({ line, field }) => [line, field]),
        [[2, 'lms.sis']],
      );
    });

    it('reports every reference to a missing record, and the records that depend on it', async () => {
      const organization = await newOrganization();
      const { problems, counts } = await publishRecords(store, organization, {
        users: [{ id: 80n, email: 'ann@x.example', name: 'Refused' }],
        pins: [{ id: 90n, boardId: 404n, title: 'Nowhere' }],
        memberships: [{ boardId: 7n, userId: 404n }],
        events: [
          { ...FOLLOW, ownerId: 404n },
          { ...FOLLOW, actorId: 80n },
          { ...FOLLOW, boardId: 404n },
          { ...FOLLOW, type: 'pin', pinId: 90n },
        ],
        points: [{ userId: 404n, boardId: 7n, totalPoints: 1, participationScore: 1 }],
        adjustments: [{ userId: 1n, boardId: 404n, points: 1, timestampMs: 1, reason: '' }],
      });
      assert.deepEqual(
        problems.map(({ line, field }) => `${line} ${field}`),
        [
          '1 email',
          '1 board_id',
          '1 user_id',
          '1 owner_id',
          '2 actor_id',
          '3 board_id',
          '4 pin_id',
          '1 user_id',
          '1 board_id',
        ],
      );
      assert.deepEqual(counts, { events: 5, users: 5, boards: 3, pins: 1 });
    });

    it('leaves no trace when it is discarded', async () => {
      const organization = await newOrganization();
      const version = await store.currentVersion(organization);
      const publication = await store.beginPublication(organization, { waitMs: 0 });
      await publication.stage('events', [{ file: 0, line: 1, ...FOLLOW }]);
      await publication.check(() => assert.fail('nothing is wrong'));
      assert.equal((await publication.preview()).changes.events.added, 1);
      await publication.discard();
      assert.equal(await store.currentVersion(organization), version);
      assert.equal(await eventCount(organization), 5);
    });

    it('waits for a publication of the same organization or gives up, and ignores those of other organizations', async () => {
      const [one, two] = [await newOrganization(), await newOrganization()];
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
      const organization = await newOrganization();
      const policy = JSON.stringify({ rules: [{ on: 'pin.visited', to: 'owner', points: 4 }] });
      const outcome = await publishRecords(
        store,
        organization,
        {},
        { policy, title: 'Renamed', courseLookup: true, userPointsKey: 'board-id' },
      );
      assert.ok(outcome.published);
      const dataset = await openPublished(store, organization);
      assert.equal(dataset.organization.title, 'Renamed');
      assert.equal(dataset.policy, policy);
      assert.equal(dataset.lookups.course, true);
      assert.equal(dataset.userPointsKey, 'board-id');
      assert.equal(dataset.lastSequence, 6);
      await dataset.close();
      assert.equal((await store.organization(organization)).settings.title, 'Renamed');
    });

    it('of settings for an organization without data keeps them and makes no version', async () => {
      await store.createOrganization('empty', {});
      const outcome = await publishRecords(store, 'empty', {}, { domain: 'empty.example' });
      assert.deepEqual([outcome.published, outcome.version], [false, undefined]);
      assert.equal((await store.organization('empty')).settings.domain, 'empty.example');
      assert.equal(await store.openDataset('empty'), undefined);
    });

    it('refuses a malformed policy', async () => {
      const organization = await newOrganization();
      await assert.rejects(
        publishRecords(store, organization, {}, { policy: '{' }),
        code('policy-malformed'),
      );
    });
  });
}
