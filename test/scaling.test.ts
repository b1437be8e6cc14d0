/** The cost model of the benchmark: `npm run bench:scaling`. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { costAt, costOfAll, fitCost, spreadSizes } from '../bench/scaling/costs.ts';
import { runs } from './model/runs.ts';

const SIZES = [1e6, 10e6, 100e6];

describe('a cost', () => {
  it('that is a line is found, and deviates from nothing', () => {
    const line = fc.record({
      fixed: fc.double({ min: 1, max: 1e9, noNaN: true }),
      perEvent: fc.double({ min: 1e-6, max: 1e3, noNaN: true }),
    });
    fc.assert(
      fc.property(line, ({ fixed, perEvent }) => {
        const found = fitCost(
          'ms',
          SIZES.map((events) => ({ events, value: fixed + perEvent * events })),
        );
        assert.ok(found.deviation < 1e-6);
        for (const events of [...SIZES, 1e9])
          assert.ok(Math.abs(costAt(found, events) / (fixed + perEvent * events) - 1) < 1e-3);
      }),
      runs(50),
    );
  });

  it('has no negative part, and says how far it is from what was measured', () => {
    const steep = fitCost('ms', [
      { events: 1, value: 1 },
      { events: 10, value: 20 },
    ]);
    assert.equal(steep.fixed, 0);
    assert.ok(steep.perEvent > 1 && steep.perEvent < 2 && steep.deviation > 0.1);
    const falling = fitCost('ms', [
      { events: 1, value: 100 },
      { events: 10, value: 80 },
    ]);
    assert.equal(falling.perEvent, 0);
    assert.ok(falling.fixed > 80 && falling.fixed < 100 && falling.deviation > 0.05);
  });

  it('needs two sizes', () => {
    assert.throws(() => fitCost('ms', [{ events: 1, value: 1 }]), RangeError);
  });

  it('of all organizations is the sum of each', () => {
    const cost = { unit: 'bytes', fixed: 10, perEvent: 2, deviation: 0 } as const;
    assert.equal(costOfAll(cost, [1, 5]), 12 + 20);
  });
});

it('sizes are spread evenly over the octaves between the bounds', () => {
  const sizes = spreadSizes(300, 1, 8);
  const inOctave = (from: number) => sizes.filter((size) => size >= from && size < 2 * from).length;
  assert.deepEqual([1, 2, 4].map(inOctave), [100, 100, 100]);
});
