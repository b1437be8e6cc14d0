/** `Top`, compared with sorting all entries. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { Top } from '../../src/insights/top.ts';

it('the top entries equal the first ones after sorting, independent of the order in which they are offered', () => {
  const ranks = fc.array(fc.integer({ min: -3, max: 3 }), { maxLength: 60 });
  const property = fc.property(
    ranks,
    fc.integer({ min: 1, max: 12 }),
    fc.boolean(),
    (all, most, backwards) => {
      const top = new Top(most);
      const entries = all.map((rank, place) => ({ rank, place }));
      for (const { rank, place } of backwards ? entries.toReversed() : entries) top.offer(rank, place);
      const sorted = entries.sort((one, other) => other.rank - one.rank || one.place - other.place);
      assert.deepEqual(top.ranked(), sorted.slice(0, most));
    },
  );
  fc.assert(property);
});
