/** Pseudonyms: no real value anywhere, one for each person, and always the same (decision 22). */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import fc from 'fast-check';
import { organizationArbitrary } from '../model/arbitrary.ts';
import { get, urlPathOf } from '../model/client.ts';
import { type Deployment, installPlan, openDeployment } from '../model/deployment.ts';
import { questionsAbout } from '../model/questions.ts';
import { runs } from '../model/runs.ts';
import { describeOverStorages } from '../storage.ts';

describeOverStorages('redaction', (kind) => {
  let deployment: Deployment;
  before(async () => {
    deployment = await openDeployment(kind);
  });
  after(() => deployment.close());

  it('hides every e-mail address and name in every route, format and map name behind one pseudonym each', async () => {
    const property = fc.asyncProperty(organizationArbitrary, async (plan) => {
      const { organization, model } = await installPlan(deployment, plan);
      const key = await deployment.makeKey(organization, { redact: { email: true, name: true } });
      const pseudonyms = new Map<string, string>();
      const note = (id: string | undefined, field: string, value: string | undefined) => {
        assert.ok(value, `the pseudonym of ${field} is not blank`);
        const known = pseudonyms.get(`${field} of ${id}`);
        assert.equal(value, known ?? value, `${field} of user ${id} is stable`);
        pseudonyms.set(`${field} of ${id}`, value);
      };
      for (const variant of ['a', 'b'] as const) {
        for (const question of questionsAbout(model)) {
          const path = urlPathOf(variant, question);
          if (path === undefined) continue;
          const { text } = await get(deployment.url + path, key);
          for (const user of model.users) {
            for (const value of [user.email, user.name, user.firstName, user.lastName]) {
              if (value === '') continue;
              assert.ok(!text.includes(JSON.stringify(value)), `${path} shows ${value}`);
            }
          }
          for (const [, id, email, name] of text.matchAll(
            /"id":(-?\d+),"email":"([^"]*)","name":"([^"]*)"/g,
          )) {
            note(id, 'email', email);
            note(id, 'name', name);
          }
          for (const [, mapName, id, email] of text.matchAll(
            /"([^"]*)":\{"user_id":(-?\d+),"board_id":-?\d+,"email":"([^"]*)"/g,
          )) {
            note(id, 'email', email);
            if (question.route === 'points of a board') assert.equal(mapName, email);
          }
        }
      }
      assert.equal(new Set(pseudonyms.values()).size, pseudonyms.size, 'no two people share a pseudonym');
    });
    await fc.assert(property, runs(2, kind));
  });
});
