import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { IndexSet, sizeOfUnion } from '../../src/insights/index-set.ts';

const SIZE = 100;
const index = fc.nat({ max: SIZE - 1 });
const steps = fc.array(fc.tuple(fc.constantFrom('add', 'remove', 'clear'), index), { maxLength: 60 });

describe('an index set', () => {
  it('contains what a plain set contains after the same steps', () => {
    fc.assert(
      fc.property(steps, (taken) => {
        const plain = new Set<number>();
        const bits = new IndexSet(SIZE);
        for (const [step, at] of taken) {
          if (step === 'add') assert.equal(bits.add(at), !plain.has(at));
          if (step === 'add') plain.add(at);
          if (step === 'remove') bits.remove(at);
          if (step === 'remove') plain.delete(at);
          if (step === 'clear') bits.clear();
          if (step === 'clear') plain.clear();
        }
        for (let at = 0; at < SIZE; at++) assert.equal(bits.has(at), plain.has(at));
      }),
    );
  });

  it('counts the indices in any of several sets', async () => {
    const sets = fc.array(fc.array(index, { maxLength: SIZE }), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(sets, async (lists) => {
        const words = lists.map((list) => {
          const set = new IndexSet(SIZE);
          for (const at of list) set.add(at);
          return set.words;
        });
        assert.equal(await sizeOfUnion(words), new Set(lists.flat()).size);
      }),
    );
  });
});
