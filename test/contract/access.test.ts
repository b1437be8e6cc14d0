/**
 * Every route of both variants, requested with every kind of key (contract 4.2, 4.3, 5; decisions
 * 12, 13).
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { answerTo, pathOf, type Variant } from '../model/answers.ts';
import { assertProblem, assertSuccess, get, urlPathOf } from '../model/client.ts';
import { renderJson } from '../model/json.ts';
import * as fixture from '../world.ts';

const REFUSED = [
  { credential: 'no key', code: 'key-missing' },
  { credential: 'a bad key', code: 'key-unknown' },
  { credential: 'an expired key', code: 'key-expired' },
  { credential: 'a revoked key', code: 'key-revoked' },
] as const;

const SCOPES = ['full', 'boards', 'users', 'nothing'] as const;

describe('access', () => {
  let world: fixture.World;
  before(async () => {
    world = await fixture.openWorld();
  });
  after(() => world.close());

  function keyOf(credential: (typeof REFUSED)[number]['credential']): string | undefined {
    const { full, expired, revoked } = world.keys;
    const forged = `${full.slice(0, -1)}${full.endsWith('0') ? '1' : '0'}`;
    return { 'no key': undefined, 'a bad key': forged, 'an expired key': expired, 'a revoked key': revoked }[
      credential
    ];
  }

  for (const variant of ['a', 'b'] as const satisfies readonly Variant[]) {
    for (const question of fixture.WORLD_QUESTIONS) {
      const path = urlPathOf(variant, question);
      if (path === undefined) continue;
      for (const { credential, code } of REFUSED) {
        it(`GET ${path} with ${credential} is refused`, async () => {
          const reply = await get(world.url + path, keyOf(credential));
          assertProblem(reply, 401, code);
          assert.ok(reply.headers.get('www-authenticate'), 'WWW-Authenticate');
        });
      }
      for (const name of SCOPES) {
        it(`GET ${path} with a key of scope "${name}" returns the data that the scope can see`, async () => {
          const expected = answerTo(fixture.WORLD_MODEL, fixture.WORLD_SCOPES[name], variant, question, {});
          const reply = await get(world.url + path, world.keys[name]);
          if (expected === 'not-found' || expected === 'lookup-not-configured') {
            assertProblem(reply, 404, expected);
            return;
          }
          assertSuccess(reply);
          assert.equal(reply.text, renderJson(expected));
        });
      }
    }
    for (const { credential, code } of REFUSED) {
      it(`Variant ${variant}: an unknown path is refused with ${credential}, too`, async () => {
        assertProblem(await get(`${world.url}/${variant}/v1/nothing-here`, keyOf(credential)), 401, code);
      });
    }
  }

  for (const question of fixture.WORLD_QUESTIONS) {
    const path = pathOf('a', question);
    const other = pathOf('b', question);
    if (path !== undefined && path !== other) {
      it(`Variant B has no ${path}`, async () => {
        assertProblem(await get(`${world.url}/b${path}`, world.keys.full), 404, 'not-found');
      });
    }
    if (other !== undefined && path !== other) {
      it(`Variant A has no ${other}`, async () => {
        assertProblem(await get(`${world.url}/a${other}`, world.keys.full), 404, 'not-found');
      });
    }
  }
});
