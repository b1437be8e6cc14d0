/**
 * Points of many boards, each with its own rules, weeks and window: compared with the model, and
 * between all places that show points (decisions 23 to 27, 71, 72).
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { TimeRange } from '../../src/dataset/query.ts';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { type ExplainedLine, explainLedger } from '../../src/points/explanation.ts';
import { policyOf, readPolicy } from '../../src/points/policy.ts';
import { openPublished } from '../dataset/small-world.ts';
import { IS_LONG } from '../long.ts';
import { answerTo, type ParsedRequest } from '../model/answers.ts';
import { instantArbitrary, type OrganizationPlan, rangeArbitrary } from '../model/arbitrary.ts';
import { type Bundle, EMPTY_BUNDLE } from '../model/bundle.ts';
import { get, getSame, urlPathOf } from '../model/client.ts';
import { type BothReadings, installPlan, openBothReadings, urlsInTurn } from '../model/deployment.ts';
import { renderJson } from '../model/json.ts';
import { isInside } from '../model/points-model.ts';
import { policyArbitrary } from '../model/policy-arbitrary.ts';
import { runs } from '../model/runs.ts';

const BOARDS = [1n, 2n, 3n, 4n, 5n, 6n];
const ACTORS = [1n, 2n];
/** Users 3 and 4 own pins and never act; user 4 is forgotten in some plans; user 5 does neither. */
const USERS = [...ACTORS, 3n, 4n, 5n];
const BODIES = ['', 'one', 'one two', '  one\u00a0two\nthree  '];
const ENTITIES: Bundle = {
  ...EMPTY_BUNDLE,
  users: USERS.map((id) => ({ id, email: `u${id}@example.org`, name: `User ${id}` })),
  boards: BOARDS.map((id) => ({ id, title: `Board ${id}` })),
  pins: BODIES.map((body, index) => ({
    id: BigInt(index),
    board_id: 1n,
    owner_id: 1n,
    title: 'Pin',
    body,
  })),
};

const timestampArbitrary = instantArbitrary.map((instantMs) => new Date(instantMs).toISOString());
const eventArbitrary = fc.record({
  type: fc.constant('pin'),
  action: fc.constantFrom('created', 'commented'),
  owner_id: fc.constantFrom(1n, 1n, 2n, 2n, 3n, 4n),
  actor_id: fc.constantFrom(...ACTORS),
  board_id: fc.constantFrom(...BOARDS),
  pin_id: fc.nat(BODIES.length - 1).map(BigInt),
  timestamp: timestampArbitrary,
});
const adjustmentArbitrary = fc.record({
  user_id: fc.constantFrom(...USERS),
  board_id: fc.constantFrom(...BOARDS),
  points: fc.integer({ min: -30, max: 30 }),
  timestamp: timestampArbitrary,
  reason: fc.constant('by hand'),
});

/** Following a board never removes a points total; leaving it can. */
const followArbitrary = fc.record({
  type: fc.constant('board'),
  action: fc.constantFrom('followed', 'unfollowed'),
  owner_id: fc.constant(1n),
  actor_id: fc.constantFrom(1n, 2n, 3n),
  board_id: fc.constantFrom(...BOARDS),
  timestamp: timestampArbitrary,
});
const importedArbitrary = fc.record({
  user_id: fc.constantFrom(...USERS),
  board_id: fc.constantFrom(...BOARDS),
  total_points: fc.nat(300),
  participation_score: fc.nat(100),
});

/** Two imports, so that late events change the awards in weeks that were already computed. */
const planArbitrary: fc.Arbitrary<OrganizationPlan> = fc
  .record({
    policy: policyArbitrary(BOARDS, 4),
    events: fc.array(eventArbitrary, { minLength: 30, maxLength: 90, size: 'max' }),
    follows: fc.array(followArbitrary, { maxLength: 3 }),
    late: fc.array(fc.oneof({ weight: 9, arbitrary: eventArbitrary }, followArbitrary), { maxLength: 20 }),
    points: fc.array(importedArbitrary, { maxLength: 3 }),
    adjustments: fc.array(adjustmentArbitrary, { maxLength: 4 }),
    forgets: fc.boolean(),
  })
  .map(({ policy, events, follows, late, points, adjustments, forgets }) => ({
    settings: {
      title: 'Points',
      domain: '',
      categoryId: 0n,
      courseLookup: false,
      lmsUserProperties: [],
      policy,
    },
    bundles: [
      { ...ENTITIES, events: [...events, ...follows], points: points.slice(1) },
      {
        ...EMPTY_BUNDLE,
        ...(forgets ? { users: [{ id: 4n, email: 'u4@example.org', forgotten: true }] } : {}),
        ...{ events: late, points: points.slice(0, 1), adjustments },
      },
    ],
    format: 'ndjson',
  }));

describe('points', () => {
  let deployment: BothReadings;
  before(async () => {
    deployment = await openBothReadings();
  });
  after(() => deployment.close());

  it('agree with the model: rules, soft maximum, weeks of any zone, windows, adjustments, ranges', async () => {
    const property = fc.asyncProperty(
      planArbitrary,
      fc.array(rangeArbitrary, { maxLength: 3 }),
      async (plan, ranges) => {
        const { organization, model } = await installPlan(deployment, plan);
        const key = await deployment.makeKey(organization);
        const questions: readonly ParsedRequest[] = [
          ...BOARDS.map((id): ParsedRequest => ({ route: 'points of a board', by: 'id', name: `${id}` })),
          ...USERS.map((id): ParsedRequest => ({ route: 'points of a user', id, keyedBy: 'board' })),
        ];
        for (const range of [{}, ...ranges]) {
          for (const [at, question] of questions.entries()) {
            const expected = answerTo(model, FULL_SCOPE, 'a', question, range);
            for (const url of urlsInTurn(deployment, at)) {
              const reply = await get(url + urlPathOf('a', question, range), key);
              assert.equal(reply.text, renderJson(expected), JSON.stringify(range));
            }
          }
        }
      },
    );
    await fc.assert(property, runs(4));
  });

  it('are the same in the maps of boards and users, in ledgers and in their explanations', async () => {
    const property = fc.asyncProperty(planArbitrary, rangeArbitrary, async (plan, range) => {
      const { organization, model } = await installPlan(deployment, plan);
      const key = await deployment.makeKey(organization);
      let at = 0;
      const read = async (path = '') =>
        JSON.parse((await getSame(urlsInTurn(deployment, at++), path, key)).text);
      const pointsOfUser = async (user: bigint, asked: TimeRange) =>
        await read(urlPathOf('a', { route: 'points of a user', id: user, keyedBy: 'board' }, asked));
      const ofUsers = new Map<bigint, Readonly<Record<string, PointsRecord>>[]>();
      for (const user of USERS)
        ofUsers.set(user, [await pointsOfUser(user, {}), await pointsOfUser(user, range)]);
      const table: readonly PointsRecord[] = await read('/insights/v1/points');
      const dataset = await openPublished(deployment.store, organization);
      for (const [boardIndex, board] of BOARDS.entries()) {
        const question: ParsedRequest = { route: 'points of a board', by: 'id', name: `${board}` };
        const ofBoard = byUser(await read(urlPathOf('a', question)));
        const ofBoardInRange = byUser(await read(urlPathOf('a', question, range)));
        for (const [userIndex, user] of USERS.entries()) {
          if (!IS_LONG && (boardIndex + userIndex) % 2 === 1) continue;
          const ledger = await dataset.ledger({ scope: FULL_SCOPE, board: boardIndex, user: userIndex });
          const explained = explainLedger(ledger, policyOf(readPolicy(dataset.policy), board));
          const { standing = null } = explained;
          assert.deepEqual(figuresOf(ofBoard.get(user)), standing);
          const insight = await read(`/insights/v1/boards/${board}/users/${user}/ledger`);
          assert.deepEqual(figuresOf(insight.standing), standing);
          const row = table.find((one) => one.user_id === Number(user) && one.board_id === Number(board));
          assert.deepEqual(figuresOf(row), standing);
          const [ofUser, ofUserInRange] = ofUsers.get(user) ?? [];
          assert.deepEqual(ofUser?.[`${board}`], ofBoard.get(user));
          assert.deepEqual(ofUserInRange?.[`${board}`], ofBoardInRange.get(user));
          if (explained.imported !== undefined) continue;
          // Users with a ledger line have a points total, unless they left or were forgotten.
          const left = model.events.some(
            (event) => event.boardId === board && event.actorId === user && event.action === 'unfollowed',
          );
          const forgotten = model.users.find(({ id }) => id === user)?.forgotten;
          if (explained.lines.length > 0 && !left && !forgotten) assert.notEqual(standing, null);
          if (standing !== null) {
            const sum = explained.countedPoints + explained.adjustedPoints;
            assert.equal(standing.totalPoints, Math.max(0, sum));
          }
          const inRange = ofBoardInRange.get(user);
          if (inRange !== undefined) assert.equal(inRange.total_points, sumInside(explained.lines, range));
        }
      }
      await dataset.close();
    });
    await fc.assert(property, runs(2));
  });
});

interface PointsRecord {
  readonly user_id: number;
  readonly board_id: number;
  readonly total_points: number;
  readonly participation_score: number;
}

function byUser(map: Readonly<Record<string, PointsRecord>>): ReadonlyMap<bigint, PointsRecord> {
  return new Map(Object.values(map).map((record) => [BigInt(record.user_id), record]));
}

function figuresOf(record: Omit<PointsRecord, 'user_id' | 'board_id'> | null | undefined) {
  if (record === null || record === undefined) return null;
  return { totalPoints: record.total_points, participationScore: record.participation_score };
}

/** The sum of the counted ledger lines inside a range, at least 0. */
function sumInside(lines: readonly ExplainedLine[], range: TimeRange): number {
  const inside = lines.filter(
    ({ counted, timestamp }) => counted && isInside(Date.parse(timestamp ?? ''), range),
  );
  return Math.max(
    0,
    inside.reduce((sum, { points }) => sum + points, 0),
  );
}
