/** Adjacent time ranges partition the results: nothing twice, nothing lost (decision 5). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { TimeRange } from '../../src/dataset/query.ts';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { pathOf } from '../model/answers.ts';
import { instantArbitrary, organizationArbitrary } from '../model/arbitrary.ts';
import { getSame, urlPathOf } from '../model/client.ts';
import { type BothReadings, installPlan, openBothReadings, urlsInTurn } from '../model/deployment.ts';
import { EVENT_LISTS } from '../model/questions.ts';
import { runs } from '../model/runs.ts';
import { visibleUsers } from '../model/scope-model.ts';

/** Ranges between the given instants, with an open first and last one. */
function windowsCutAt(instants: readonly number[]): readonly TimeRange[] {
  const cuts = [...new Set(instants)].toSorted((one, other) => one - other);
  return [undefined, ...cuts].map((startMs, index) => ({ startMs, endMs: cuts[index] }));
}

function elementsOf(text: string): readonly unknown[] {
  const list: unknown = JSON.parse(text);
  assert.ok(Array.isArray(list), text);
  return list;
}

/** Total points by the name in the map. */
function totalsOf(text: string): ReadonlyMap<string, number> {
  const records = Object.entries<{ readonly total_points: number }>(JSON.parse(text));
  return new Map(records.map(([name, record]) => [name, record.total_points]));
}

describe('ranges', () => {
  let deployment: BothReadings;
  before(async () => {
    deployment = await openBothReadings();
  });
  after(() => deployment.close());

  const cuts = fc.array(instantArbitrary, { minLength: 2, maxLength: 5 });

  it('partition the events of every events route, and the users and boards that have a time', async () => {
    const property = fc.asyncProperty(organizationArbitrary, cuts, async (plan, instants) => {
      const { organization } = await installPlan(deployment, plan);
      const key = await deployment.makeKey(organization);
      const lists = [...EVENT_LISTS, { route: 'users' } as const, { route: 'boards' } as const];
      for (const [at, question] of lists.entries()) {
        const ask = async (range: TimeRange) =>
          getSame(urlsInTurn(deployment, at), urlPathOf('a', question, range) ?? '', key);
        const whole = await ask({});
        if (whole.status !== 200) continue;
        const parts = await Promise.all(windowsCutAt(instants).map(ask));
        const together = parts.flatMap((part) => elementsOf(part.text));
        if (question.route !== 'users' && question.route !== 'boards') {
          assert.deepEqual(together, elementsOf(whole.text), question.route);
          continue;
        }
        const timed = await Promise.all([ask({ startMs: 0 }), ask({ endMs: 0 })]);
        const texts = (list: readonly unknown[]) => list.map((one) => JSON.stringify(one)).toSorted();
        assert.deepEqual(
          texts(together),
          texts(timed.flatMap((part) => elementsOf(part.text))),
          pathOf('a', question),
        );
      }
    });
    await fc.assert(property, runs(2));
  });

  it('add up: the points of adjacent ranges are the points without a range, adjustments aside', async () => {
    const property = fc.asyncProperty(organizationArbitrary, cuts, async (plan, instants) => {
      const bundles = plan.bundles.map((bundle) => ({ ...bundle, adjustments: [], points: [] }));
      const { organization, model } = await installPlan(deployment, { ...plan, bundles });
      const key = await deployment.makeKey(organization);
      for (const [at, { id }] of visibleUsers(model, FULL_SCOPE).entries()) {
        const question = { route: 'points of a user', id, keyedBy: 'board' } as const;
        const ask = async (range: TimeRange) =>
          totalsOf(
            (await getSame(urlsInTurn(deployment, at), urlPathOf('a', question, range) ?? '', key)).text,
          );
        const parts = await Promise.all(windowsCutAt(instants).map(ask));
        for (const [board, total] of await ask({})) {
          const sum = parts.reduce((points, part) => points + (part.get(board) ?? Number.NaN), 0);
          assert.equal(sum, total, `user ${id} on board ${board}`);
        }
      }
    });
    await fc.assert(property, runs(2));
  });
});
