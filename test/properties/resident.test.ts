/** A dataset in memory gives the same results as the stored dataset. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { FULL_SCOPE, type Scope } from '../../src/domain/scope.ts';
import { withResidentDatasets } from '../../src/store/resident-store.ts';
import { openFromImage } from '../dataset/imaged.ts';
import { openPublished, publishRecords, type Records } from '../dataset/small-world.ts';
import { IS_LONG } from '../long.ts';
import { organizationArbitrary } from '../model/arbitrary.ts';
import { type Deployment, holdsRecords, installPlan, openDeployment } from '../model/deployment.ts';
import { runs } from '../model/runs.ts';
import { assertSameAnswers, type Questions, questions } from './dataset-questions.ts';

const QUESTIONS = IS_LONG ? 24 : 12;
const LIMIT = { limitBytes: Number.POSITIVE_INFINITY };

describe('a resident dataset', () => {
  let deployment: Deployment;
  before(async () => {
    deployment = await openDeployment();
  });
  after(() => deployment.close());

  const openBoth = async (organization: string) => {
    const resident = withResidentDatasets(deployment.store, LIMIT);
    const both = {
      stored: await openPublished(deployment.store, organization),
      resident: await openPublished(resident, organization),
      imaged: await openFromImage(deployment.store, organization),
    };
    assert.notEqual(both.resident.timeline, undefined);
    return {
      ...both,
      close: async () => {
        await both.stored.close();
        await both.resident.close();
        await both.imaged.close();
      },
    };
  };

  it('gives the same result as the stored one for any query about any organization', async () => {
    const many = fc.array(questions, { minLength: QUESTIONS, maxLength: QUESTIONS });
    const property = fc.asyncProperty(organizationArbitrary, many, async (plan, all) => {
      fc.pre(plan.bundles.some(holdsRecords));
      const { organization } = await installPlan(deployment, plan);
      const { stored, resident, imaged, close } = await openBoth(organization);
      try {
        await assertSameAnswers(stored, [resident, imaged], all);
      } finally {
        await close();
      }
    });
    await fc.assert(property, runs(2));
  });

  it('gives the same results for more events than it reads at a time, in later versions and from an image, too', async () => {
    await deployment.store.createOrganization('large', {});
    const inMemory = withResidentDatasets(deployment.store, LIMIT);
    const increments = [recordsOf(0, 34_000), recordsOf(34_000, 36_000), recordsOf(42_321, 42_322)];
    const datasets: Dataset[] = [];
    for (const [step, records] of increments.entries()) {
      await publishRecords(deployment.store, 'large', records);
      const stored = await openPublished(deployment.store, 'large');
      const resident =
        step === 1 ? await openFromImage(deployment.store, 'large') : await openPublished(inMemory, 'large');
      datasets.push(stored, resident);
      const isTurn = (_: unknown, place: number) => IS_LONG || place % increments.length === step;
      await assertSameAnswers(stored, [resident], LARGE_QUESTIONS.filter(isTurn));
      const some = Array.from({ length: step === 0 ? 0 : 15 }, (_, at) => at * 14);
      for (const of of some.filter(isTurn).flatMap((at) => [{ board: at }, { user: at }])) {
        const query = { scope: FULL_SCOPE, range: { startMs: 3_000_000 }, of };
        assert.deepEqual(await resident.standings(query), await stored.standings(query));
      }
    }
    for (const dataset of datasets) await dataset.close();
  });
});

const [USERS, BOARDS] = [300, 200];
const idsTo = (count: number) =>
  Array.from({ length: count }, (_, index) => BigInt((index * 7) % count) + 1n);

/** The events of `[from, to)`; later calls add one user and one board. */
function recordsOf(from: number, to: number): Records {
  const more = [100_000n + BigInt(to)];
  const users = from === 0 ? idsTo(USERS) : more;
  const boards = from === 0 ? idsTo(BOARDS) : more;
  return {
    users: users.map((id) => ({ id, email: `${id}@x.example`, name: `User ${id}` })),
    boards: boards.map((id) => ({ id, title: `Board ${id}` })),
    pins: [{ id: 1n, boardId: 1n, ownerId: 1n, title: 'Pin' }],
    // Several events share every instant, and events imported later are not later in time.
    events: Array.from({ length: to - from }, (_, place) => from + place).map((at) => ({
      ...(at % 5 === 0
        ? { type: 'pin', action: at % 3 === 0 ? 'visited' : 'created', pinId: 1n }
        : { type: 'board', action: 'followed' }),
      ownerId: BigInt((at * 31) % USERS) + 1n,
      actorId: at % 1_000 === 999 ? users[0]! : BigInt((from === 0 ? at * at : at * 7) % USERS) + 1n,
      boardId: at % 1_000 === 0 ? boards[0]! : BigInt((at * 17 + (at % 13)) % BOARDS) + 1n,
      timestampMs: ((at * 7_919) % 10_000) * 2_000,
    })),
  };
}

const LARGE_QUESTIONS = [
  FULL_SCOPE,
  { boards: [5n, 9n, 150n], users: 'of-boards' },
  { boards: idsTo(150), users: 'all' },
  { boards: 'all', users: idsTo(120) },
  { boards: 'all', users: [2n, 5n, 7n, 17n, 26n] },
].flatMap((scope) =>
  [{}, { startMs: 3_000_000, endMs: 17_000_000 }].flatMap((range): Questions[] => {
    const common = { scope: scope as Scope, range };
    const form = { representation: 'json', variant: 'a', redacted: true } as const;
    return [
      { ...form, events: common, list: common, standings: { ...common, of: { board: 4 } }, points: common },
      {
        ...form,
        events: { ...common, actor: 1, pinsOnly: true, upToSequence: 30_000 },
        list: { ...common, limit: 7 },
        standings: { ...common, of: { user: 1 } },
        points: { ...common, after: { boardId: 3n, userId: 20n }, limit: 3_000 },
      },
    ];
  }),
);
