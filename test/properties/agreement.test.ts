/**
 * The product against the reference model: every route of both variants, for random organizations.
 */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import fc from 'fast-check';
import type { TimeRange } from '../../src/dataset/query.ts';
import { FULL_SCOPE, type Scope } from '../../src/domain/scope.ts';
import { answerTo, type Variant } from '../model/answers.ts';
import { organizationArbitrary, rangeArbitrary, scopeArbitrary } from '../model/arbitrary.ts';
import { assertProblem, assertSuccess, get, urlPathOf } from '../model/client.ts';
import { type Deployment, installPlan, openDeployment } from '../model/deployment.ts';
import { renderJson } from '../model/json.ts';
import type { Model } from '../model/model.ts';
import { questionsAbout } from '../model/questions.ts';
import { runs } from '../model/runs.ts';
import { describeOverStorages } from '../storage.ts';

describeOverStorages('the reference model', (kind) => {
  let deployment: Deployment;
  before(async () => {
    deployment = await openDeployment(kind);
  });
  after(() => deployment.close());

  it('gives the same responses as the product: imports, scopes, ranges, order and points', async () => {
    const property = fc.asyncProperty(
      organizationArbitrary,
      rangeArbitrary,
      scopeArbitrary,
      rangeArbitrary,
      async (plan, range, scope, scopedRange) => {
        const { organization, model } = await installPlan(deployment, plan);
        await compare(organization, model, 'b', FULL_SCOPE, {});
        await compare(organization, model, 'a', FULL_SCOPE, range);
        await compare(organization, model, 'a', scope, {});
        await compare(organization, model, 'a', scope, scopedRange);
        await compare(organization, model, 'b', scope, scopedRange);
      },
    );
    await fc.assert(property, runs(6, kind));
  });

  async function compare(
    organization: string,
    model: Model,
    variant: Variant,
    scope: Scope,
    range: TimeRange,
  ): Promise<void> {
    const key = await deployment.makeKey(organization, { scope });
    for (const question of questionsAbout(model)) {
      const path = urlPathOf(variant, question, range);
      if (path === undefined) continue;
      const expected = answerTo(model, scope, variant, question, range);
      const reply = await get(deployment.url + path, key);
      if (expected === 'not-found' || expected === 'lookup-not-configured') {
        assertProblem(reply, 404, expected);
      } else {
        assertSuccess(reply);
        assert.equal(reply.text, renderJson(expected), path);
      }
    }
  }
});
