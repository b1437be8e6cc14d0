/** The check of commit messages finds a violation of each rule. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { findProblems } from './commits.ts';

const BODY = '\n\nBecause of a reason.\n';

it('a commit message with an imperative subject and a body has no problem', () => {
  assert.deepEqual(findProblems(`Say it plainly${BODY}`), []);
  assert.deepEqual(findProblems(`${'A'.repeat(72)}${BODY}`), []);
});

for (const [message, problem] of [
  [`${'A'.repeat(73)}${BODY}`, /exceeds 72/],
  [`say it${BODY}`, /capital letter/],
  [`Say it.${BODY}`, /full stop/],
  [`Added a route${BODY}`, /imperative/],
  [`Fixes the route${BODY}`, /imperative/],
  ['Say it\nat once\n', /blank line/],
  ['Say it\n', /say why/],
] as const) {
  it(`a commit message "${message.slice(0, 20).trim()}" has the problem ${problem}`, () => {
    assert.match(findProblems(message).join('\n'), problem);
  });
}
