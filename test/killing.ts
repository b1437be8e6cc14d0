/**
 * How often tests kill what they start, and when: a few times, spread over the moments that matter, and a hundred
 * times with `CORKBOARD_LONG=1`. The moments come from a seed that the tests tell; `CORKBOARD_SEED` repeats it.
 */
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import { IS_LONG } from './model/runs.ts';

const LONG_ROUNDS = 100;

export const seed = Number(process.env['CORKBOARD_SEED'] ?? Date.now() % 2 ** 31);

/** How many rounds are played: so many, or a hundred. */
export function killRounds(usual: number): number {
  return IS_LONG ? LONG_ROUNDS : usual;
}

/**
 * Parts of a whole, from 0 to 1 and ascending: one in each of as many equal parts of it, somewhere. Those of one seed
 * are the same each time.
 */
export function spreadMoments(rounds: number): readonly number[] {
  const places = fc.sample(fc.noBias(fc.integer({ min: 0, max: 999 })), { seed, numRuns: rounds });
  return places.map((place, round) => (round + place / 1_000) / rounds);
}

export function tellSeed(t: TestContext): void {
  t.diagnostic(`CORKBOARD_SEED=${seed}`);
}
