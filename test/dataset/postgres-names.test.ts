/** Numbers for ids, as a map would give them, whatever the ids are. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { Halves, halvesOf, Names } from '../../src/dataset/postgres/names.ts';

const ID = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.bigInt({ min: -3n, max: 3n }),
  // With one half always the same.
  fc.bigInt({ min: -50n, max: 50n }).map((high) => high << 32n),
);

it('ids get numbers in the order in which they come, each its own, and are told by them', () => {
  fc.assert(
    fc.property(fc.array(ID, { maxLength: 60 }), fc.integer({ min: 0, max: 3_000 }), (ids, more) => {
      const all = [...ids, ...Array.from({ length: more }, (_, n) => BigInt(n) * 1_024n), ...ids];
      const names = new Names();
      const model = new Map<bigint, number>();
      const halves = new Halves(BigInt64Array.from(all));
      for (const [row, id] of all.entries()) {
        if (!model.has(id)) model.set(id, model.size);
        assert.deepEqual(halvesOf(id), { high: halves.high(row), low: halves.low(row) });
        assert.equal(names.number(halves.high(row), halves.low(row)), model.get(id));
      }
      assert.equal(names.count, model.size);
      for (const [id, number] of model) assert.equal(names.id(number), id);
    }),
  );
});
