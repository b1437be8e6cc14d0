/** The contract of publications for every store: what they merge and refuse. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Store } from '../../src/store/store.ts';
import { everybodyOf } from './record-columns.ts';
import { BIG, eventsInWords, openPublished, publishRecords, type Records, WORLD } from './small-world.ts';
import { code } from './store-contract.ts';

const FOLLOW = { type: 'board', action: 'followed', ownerId: 1n, actorId: 1n, boardId: 7n, timestampMs: 1 };
/**
 * Has the small world. Most tests add to it: each its own records, which have no effect on those of
 * the others.
 */
const ORGANIZATION = 'acme';

export function describeMerging(name: string, openStore: () => Promise<Store>): void {
  describe(`${name}: a publication`, () => {
    let store: Store;
    before(async () => {
      store = await openStore();
      await store.createOrganization(ORGANIZATION, {});
      await publishRecords(store, ORGANIZATION, WORLD);
    });
    after(() => store.close());

    const publish = (records: Records) => publishRecords(store, ORGANIZATION, records);
    const people = async (organization: string) => {
      const dataset = await openPublished(store, organization);
      const found = await everybodyOf(dataset.records('users'));
      await dataset.close();
      return found;
    };
    const eventCount = async () => {
      const dataset = await openPublished(store, ORGANIZATION);
      const { length } = await eventsInWords(dataset);
      await dataset.close();
      return length;
    };

    it('decision 29: adds the second identical event of one import as a second event, only once', async () => {
      const one = { ...FOLLOW, boardId: 9n };
      const added = async (events: Records['events']) =>
        (await publish({ events: events ?? [] })).changes.events;
      const before = await eventCount();
      assert.deepEqual(await added([one, one]), { added: 2, changed: 0, unchanged: 0, deleted: 0 });
      assert.deepEqual(await added([one, one, one]), { added: 1, changed: 0, unchanged: 2, deleted: 0 });
      assert.equal(await eventCount(), before + 3);
    });

    it('decision 29: identifies events by their id, and events without an id by their fields', async () => {
      const before = await eventCount();
      await publish({
        events: [
          { ...FOLLOW, id: 1n },
          { ...FOLLOW, id: 2n },
        ],
      });
      await publish({ events: [{ ...FOLLOW, id: 2n, timestampMs: 99 }, FOLLOW, FOLLOW] });
      assert.equal(await eventCount(), before + 2);
      await publish({ events: [{ ...FOLLOW, id: 3n }] });
      assert.equal(await eventCount(), before + 3);
    });

    it('decision 29: numbers events and their kinds as if the refused ones were absent', async () => {
      const published = async () => {
        const dataset = await openPublished(store, ORGANIZATION);
        await dataset.close();
        return { last: dataset.lastSequence, kinds: dataset.kinds.slice(-2).map(({ action }) => action) };
      };
      const before = await published();
      const events = ['second', 'first', 'second'].map((action) => ({ ...FOLLOW, action }));
      await publish({
        events: [{ ...events[0]!, actorId: 404n }, ...events.slice(1)],
      });
      assert.deepEqual(await published(), { last: before.last + 2, kinds: ['first', 'second'] });
      await publish({
        users: [{ id: 3n, email: '', forgotten: true }],
        events: [
          { ...FOLLOW, actorId: 3n, action: 'third' },
          ...events.map((event) => ({ ...event, timestampMs: 9 })),
        ],
      });
      assert.deepEqual(await published(), { last: before.last + 2 + 3, kinds: ['first', 'second'] });
    });

    it('decision 29: replaces users field by field, and joins and splits names at the last space', async () => {
      const organization = 'names';
      await store.createOrganization(organization, {});
      await publishRecords(store, organization, {
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

    it('decision 29: merges boards that an import repeats with those that it contains once', async () => {
      const organization = 'boards';
      await store.createOrganization(organization, {});
      const publishBoards = (boards: Records['boards']) =>
        publishRecords(store, organization, boards === undefined ? {} : { boards });
      await publishBoards([{ id: 3n, title: 'Three', category: 'old' }]);
      const { changes } = await publishBoards([
        { id: 2n, title: 'Two' },
        { id: 1n, title: 'One', category: 'first' },
        { id: 3n, category: 'new' },
        { id: 2n, courseId: 'C 2' },
        { id: 4n, title: 'Four' },
        { id: 1n, category: 'last', ltiId: 'L 1' },
        { id: 2n, title: 'Second' },
      ]);
      assert.deepEqual(changes.boards, { added: 3, changed: 1, unchanged: 0, deleted: 0 });
      const dataset = await openPublished(store, organization);
      const found: string[] = [];
      for await (const boards of dataset.records('boards')) {
        const texts = [boards.title, boards.category, boards.lti_id, boards.course_id];
        for (const [at, id] of boards.id.entries()) {
          found.push([id, ...texts.map((column) => column.at(at))].join());
        }
      }
      await dataset.close();
      // In the order of the first record of each.
      assert.deepEqual(found, ['3,Three,new,,', '2,Second,,,C 2', '1,One,last,L 1,', '4,Four,,,']);
    });

    it('decision 9: refuses a second user of an e-mail address, ignoring case, and names both', async () => {
      const { problems, published } = await publish({
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
      const { problems } = await publish({
        users: [
          { id: 4n, email: 'big@x.example' },
          { id: BIG, email: 'mem@x.example' },
        ],
      });
      assert.deepEqual(problems, []);
      const emails = new Map((await people(ORGANIZATION)).map(({ id, email }) => [id, email]));
      assert.deepEqual([emails.get(4n), emails.get(BIG)], ['big@x.example', 'mem@x.example']);
    });

    it('decision 11: refuses a second board with the same LTI id or course id', async () => {
      const { problems } = await publish({
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
      const free = 'free';
      await store.createOrganization(free, {});
      await publishRecords(store, free, twins);
      await assert.rejects(
        publishRecords(store, free, {}, { lmsUserProperties: ['sis'] }),
        (error: Error) => code('settings-refused')(error as never) && /70 and 71/.test(error.message),
      );
      const { problems } = await publishRecords(store, ORGANIZATION, twins, {
        lmsUserProperties: ['sis', 'od\'d "one'],
      });
      assert.deepEqual(
        problems.map(({ line, field }) => [line, field]),
        [[2, 'lms.sis']],
      );
    });

    it('reports every reference to a missing record, and the records that depend on it', async () => {
      const { problems, published } = await publish({
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
      assert.equal(published, false);
    });
  });
}
