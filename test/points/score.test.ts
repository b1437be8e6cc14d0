import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { DEFAULT_POLICY } from '../../src/points/policy.ts';
import { participationScore, totalPoints } from '../../src/points/score.ts';

const percentOf = (goal: number) => ({ ...DEFAULT_POLICY.default, goal });
const pointsUpTo = (goal: number) => ({ ...percentOf(goal), participationScore: 'points' as const });

describe('the total', () => {
  test('is the counted points plus adjustments, never below 0', () => {
    assert.equal(totalPoints(70, 5), 75);
    assert.equal(totalPoints(70, -5), 65);
    assert.equal(totalPoints(70, -71), 0);
    assert.equal(totalPoints(0, 0), 0);
  });
});

describe('the participation score', () => {
  const cases: readonly (readonly [goal: number, total: number, score: number])[] = [
    [100, 0, 0],
    [100, 65, 65],
    [100, 100, 100],
    [100, 5000, 100],
    [200, 1, 1],
    [1000, 4, 0],
    [1000, 5, 1],
    [1000, 994, 99],
    [1000, 995, 100],
    [3, 1, 33],
    [3, 2, 67],
    [1, 1, 100],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER - 1, 100],
    [Number.MAX_SAFE_INTEGER, 45035996273704, 0],
    [Number.MAX_SAFE_INTEGER, 45035996273705, 1],
    [100, -5, 0],
  ];
  for (const [goal, total, score] of cases) {
    test(`of ${total} points towards ${goal} is ${score} percent`, () => {
      assert.equal(participationScore(percentOf(goal), total), score);
    });
  }

  test('in points is the total, at most the goal and never below 0', () => {
    assert.deepEqual(
      [-5, 0, 65, 250, 251].map((total) => participationScore(pointsUpTo(250), total)),
      [0, 0, 65, 250, 250],
    );
  });

  test('in percent is the rounded quotient, halves up, for common sizes', () => {
    const size = fc.integer({ min: 1, max: 1_000_000 });
    fc.assert(
      fc.property(size, size, (goal, total) => {
        const expected = Math.min(100, Math.round((100 * total) / goal));
        assert.equal(participationScore(percentOf(goal), total), expected);
      }),
    );
  });
});
