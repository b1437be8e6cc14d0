/** Points of many boards, each with rules, weeks and a window of its own, against the model (decisions 23 to 26). */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import fc from 'fast-check';
import { FULL_SCOPE } from '../../src/dataset/scope.ts';
import { answerTo, type Question } from '../model/answers.ts';
import { instantArbitrary, type OrganizationPlan, rangeArbitrary } from '../model/arbitrary.ts';
import { type Bundle, EMPTY_BUNDLE } from '../model/bundle.ts';
import { get, urlPathOf } from '../model/client.ts';
import { type Deployment, installPlan, openDeployment } from '../model/deployment.ts';
import { renderJson } from '../model/json.ts';
import { policyArbitrary } from '../model/policy-arbitrary.ts';
import { runs } from '../model/runs.ts';
import { describeOverStorages } from '../storage.ts';

const BOARDS = [1n, 2n, 3n, 4n, 5n, 6n];
const USERS = [1n, 2n];
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
  owner_id: fc.constantFrom(...USERS),
  actor_id: fc.constantFrom(...USERS),
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

/** Two imports, so that late events change what counts in weeks that were computed before. */
const planArbitrary: fc.Arbitrary<OrganizationPlan> = fc
  .record({
    policy: policyArbitrary(BOARDS, 4),
    events: fc.array(eventArbitrary, { minLength: 30, maxLength: 90, size: 'max' }),
    late: fc.array(eventArbitrary, { maxLength: 20 }),
    adjustments: fc.array(adjustmentArbitrary, { maxLength: 4 }),
  })
  .map(({ policy, events, late, adjustments }) => ({
    settings: {
      title: 'Points',
      domain: '',
      categoryId: 0n,
      courseLookup: false,
      lmsUserProperties: [],
      policy,
    },
    bundles: [
      { ...ENTITIES, events },
      { ...EMPTY_BUNDLE, events: late, adjustments },
    ],
    format: 'ndjson',
  }));

describeOverStorages('points', (kind) => {
  let deployment: Deployment;
  before(async () => {
    deployment = await openDeployment(kind);
  });
  after(() => deployment.close());

  it('are those of the model: rules, soft maximum, weeks of any zone, windows, adjustments, ranges', async () => {
    const property = fc.asyncProperty(
      planArbitrary,
      fc.array(rangeArbitrary, { maxLength: 3 }),
      async (plan, ranges) => {
        const { organization, model } = await installPlan(deployment, plan);
        const key = await deployment.makeKey(organization);
        const questions: readonly Question[] = [
          ...BOARDS.map((id): Question => ({ route: 'points of a board', by: 'id', name: `${id}` })),
          ...USERS.map((id): Question => ({ route: 'points of a user', id, keyedBy: 'board' })),
        ];
        for (const range of [{}, ...ranges]) {
          for (const question of questions) {
            const expected = answerTo(model, FULL_SCOPE, 'a', question, range);
            const reply = await get(deployment.url + urlPathOf('a', question, range), key);
            assert.equal(reply.text, renderJson(expected), JSON.stringify(range));
          }
        }
      },
    );
    await fc.assert(property, runs(5, kind));
  });
});
