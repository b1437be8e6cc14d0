/** A dataset in memory that was made from the one before and what is new since answers as one that is loaded anew. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import fc from 'fast-check';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { withResidentDatasets } from '../../src/dataset/resident/store.ts';
import { FULL_SCOPE } from '../../src/dataset/scope.ts';
import type { Settings, Store } from '../../src/dataset/store.ts';
import { openPublished, publishRecords, type Records, WORLD } from '../dataset/small-world.ts';
import { BOARD_IDS, organizationArbitrary } from '../model/arbitrary.ts';
import { type Bundle, EMPTY_BUNDLE } from '../model/bundle.ts';
import { type Deployment, holdsRecords, openDeployment, storeSettings } from '../model/deployment.ts';
import { policyArbitrary } from '../model/policy-arbitrary.ts';
import { runs } from '../model/runs.ts';
import { DIRECT, describeOver } from '../storage.ts';
import { assertSameAnswers, assertSameThroughout, questions } from './dataset-questions.ts';

const LIMIT = { limitBytes: Number.POSITIVE_INFINITY };

/** The part of a bundle that is about its first users and boards, so that the rest of them come later. */
function partOf(bundle: Bundle, userCount: number, boardCount: number): Bundle {
  const users = bundle.users.slice(0, userCount);
  const boards = bundle.boards.slice(0, boardCount);
  const userIds = new Set(users.map(({ id }) => id));
  const boardIds = new Set(boards.map(({ id }) => id));
  const isAbout = (record: { readonly board_id: bigint; readonly user_id: bigint }) =>
    boardIds.has(record.board_id) && userIds.has(record.user_id);
  return {
    ...EMPTY_BUNDLE,
    users,
    boards,
    memberships: bundle.memberships.filter(isAbout),
    points: bundle.points.filter(isAbout),
    adjustments: bundle.adjustments.filter(isAbout),
    events: bundle.events.filter(
      ({ type, owner_id, actor_id, board_id }) =>
        type !== 'pin' && userIds.has(owner_id) && userIds.has(actor_id) && boardIds.has(board_id),
    ),
  };
}

const changedSettings = fc.record(
  {
    title: fc.constantFrom('One', 'Another'),
    courseLookup: fc.boolean(),
    policy: policyArbitrary(BOARD_IDS).map((policy) => JSON.stringify(policy)),
  },
  { requiredKeys: [] },
);

/** The same store; counts how often it tells what is new. */
function counting(store: Store): { readonly store: Store; told(): number } {
  let count = 0;
  const openDataset = async (name: string) => {
    const dataset = await store.openDataset(name);
    const eventsSince = dataset?.eventsSince?.bind(dataset);
    if (dataset === undefined || eventsSince === undefined) return dataset;
    return Object.assign(dataset, {
      eventsSince: async (earlier: Dataset) => {
        const added = await eventsSince(earlier);
        if (added !== undefined) count += 1;
        return added;
      },
    });
  };
  const counted: Partial<Store> = { openDataset };
  return { store: Object.setPrototypeOf(counted, store), told: () => count };
}

const ON_BOARD_7 = { ownerId: 5n, actorId: 1n, boardId: 7n };

/** Changes of the small world that are easy to overlook, since little else changes with them. */
const SMALL_CHANGES: readonly Records[] = [
  // Another time for the same total.
  {
    adjustments: [
      { userId: 1n, boardId: 7n, points: 4, timestampMs: 1_000, reason: 'early' },
      { userId: 1n, boardId: 7n, points: -4, timestampMs: 9_000, reason: 'late' },
    ],
  },
  { users: [{ id: 1n, lms: { sis_user_id: 'S1' } }] },
  // Names that change hands.
  {
    users: [
      { id: 1n, lms: { sis_user_id: '' } },
      { id: 3n, lms: { sis_user_id: 'S1' } },
    ],
  },
  {
    boards: [
      { id: 7n, ltiId: 'lti-8' },
      { id: 8n, ltiId: 'lti-7' },
    ],
  },
  // The first act of a user and on a board, before all others.
  { events: [{ type: 'board', action: 'seen', ownerId: 5n, actorId: 4n, boardId: 9n, timestampMs: -9_000 }] },
  { events: [{ ...ON_BOARD_7, type: 'board', action: 'unfollowed', timestampMs: 8_000 }] },
  { events: [{ ...ON_BOARD_7, type: 'board', action: 'followed', timestampMs: 8_000 }] },
  { points: [{ userId: 1n, boardId: 7n, totalPoints: 7, participationScore: 7 }] },
];

/** One version, as it is in memory and as its store tells it. */
interface Opened {
  readonly followed: Dataset;
  readonly stored: Dataset;
}

async function closeAll(versions: readonly Opened[]): Promise<void> {
  for (const { followed, stored } of versions) {
    await followed.close();
    await stored.close();
  }
}

/** With a person events go, too, and an increment only brings. */
async function forgetsSince(version: Dataset, earlier: Dataset): Promise<boolean> {
  return (await version.forgotten(FULL_SCOPE, earlier.lastSequence)).length > 0;
}

describeOver(DIRECT, 'a dataset that follows', {}, (kind) => {
  let deployment: Deployment;
  before(async () => {
    deployment = await openDeployment(kind);
  });
  after(() => deployment.close());

  const publish = async (organization: string, step: Bundle | Partial<Settings>) => {
    if (!('events' in step))
      return (await publishRecords(deployment.store, organization, {}, step)).published;
    return holdsRecords(step) && (await deployment.load(organization, step)).published;
  };

  let organizations = 0;
  it('answers any question after any increment as one that is loaded anew', async () => {
    const many = fc.array(questions, { minLength: 6, maxLength: 6 });
    const sizes = fc.record({ users: fc.nat(4), boards: fc.nat(3) });
    const property = fc.asyncProperty(
      ...[organizationArbitrary, sizes, fc.array(changedSettings, { maxLength: 2 }), many],
      async (plan, { users, boards }, settings, all) => {
        const organization = `followed-${++organizations}`;
        await deployment.store.createOrganization(organization, storeSettings(plan.settings));
        const [first = EMPTY_BUNDLE, ...later] = plan.bundles;
        const { store, told } = counting(deployment.store);
        const following = withResidentDatasets(store, LIMIT);
        const steps = [
          partOf(first, users, boards),
          first,
          ...later.slice(0, 1),
          ...settings,
          ...later.slice(1),
        ];
        let open: Opened[] = [];
        let expected = 0;
        for (const step of steps) {
          if (!(await publish(organization, step))) continue;
          const stored = await openPublished(deployment.store, organization);
          const followed = await openPublished(following, organization);
          const anew = await openPublished(withResidentDatasets(deployment.store, LIMIT), organization);
          const earlier = open.at(-1)?.stored;
          if (earlier !== undefined && (await forgetsSince(stored, earlier))) {
            // A person that is forgotten goes from the earlier versions of a store, too.
            await closeAll(open);
            open = [];
          } else if (earlier !== undefined) expected += 1;
          open.push({ followed, stored });
          await assertSameThroughout(anew, followed);
          await assertSameAnswers(anew, followed, all);
          await anew.close();
        }
        assert.equal(told(), expected, 'each version follows that is not the first and forgets nobody');
        // What came later has changed nothing of those before.
        for (const { followed, stored } of open) await assertSameAnswers(stored, followed, all.slice(0, 3));
        await closeAll(open);
      },
    );
    // Increments of DuckDB are of events alone, and its versions take longer to make.
    await fc.assert(property, runs(kind.store === 'DuckDB' ? 3 : 6, kind));
  });

  it('answers as one that is loaded anew after changes that are easy to overlook', async () => {
    await deployment.store.createOrganization('small', {});
    const { store, told } = counting(deployment.store);
    const following = withResidentDatasets(store, LIMIT);
    let followed: Dataset | undefined;
    for (const records of [WORLD, ...SMALL_CHANGES]) {
      assert.ok((await publishRecords(deployment.store, 'small', records)).published);
      const before = followed;
      followed = await openPublished(following, 'small');
      const anew = await openPublished(withResidentDatasets(deployment.store, LIMIT), 'small');
      await assertSameThroughout(anew, followed);
      await before?.close();
      await anew.close();
    }
    await followed?.close();
    assert.equal(told(), SMALL_CHANGES.length);
  });

  it('is loaded anew when more has come than a quarter, and when no earlier version is in memory', async () => {
    await deployment.store.createOrganization('growing', {});
    const { store, told } = counting(deployment.store);
    const following = withResidentDatasets(store, LIMIT);
    await publishRecords(deployment.store, 'growing', WORLD);
    const first = await openPublished(following, 'growing');
    const events = Array.from({ length: 5_000 }, (_, at) => ({
      ...{ ...ON_BOARD_7, type: 'board', action: 'followed', timestampMs: at },
    }));
    await publishRecords(deployment.store, 'growing', { events });
    const second = await openPublished(following, 'growing');
    await first.close();
    await second.close();
    await publishRecords(deployment.store, 'growing', SMALL_CHANGES[0] ?? {});
    const third = await openPublished(following, 'growing');
    assert.deepEqual([told(), third.counts.events], [0, 5_005]);
    await third.close();
  });
});
