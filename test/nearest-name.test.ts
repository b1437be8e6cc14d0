import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearestName } from '../src/domain/nearest-name.ts';

const KNOWN = ['start', 'end', 'limit', 'cursor', 'owner_id', 'created_at'];

for (const [written, meant] of [
  ['strat', 'start'],
  ['START', 'start'],
  ['ende', 'end'],
  ['limti', 'limit'],
  ['ownerId', 'owner_id'],
  ['createdAt', 'created_at'],
] as const) {
  test(`${written} is taken for ${meant}`, () => assert.equal(nearestName(written, KNOWN), meant));
}

test('a name that is unlike all known names has no nearest one', () => {
  assert.equal(nearestName('fields', KNOWN), undefined);
  assert.equal(nearestName('', KNOWN), undefined);
  assert.equal(nearestName('x'.repeat(100_000), KNOWN), undefined);
  assert.equal(nearestName('start', []), undefined);
});
