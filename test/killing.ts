/**
 * How often and when tests kill their processes: a few times, spread over the relevant period, and
 * 25 times with `CORKBOARD_LONG=1`. The moments depend on a seed that the tests print;
 * `CORKBOARD_SEED` repeats a run.
 */
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import { IS_LONG } from './long.ts';

const LONG_ROUNDS = 25;

export const seed = Number(process.env['CORKBOARD_SEED'] ?? Date.now() % 2 ** 31);

/** The number of rounds: `usual`, or 25 in a long run. */
export function killRounds(usual: number): number {
  return IS_LONG ? LONG_ROUNDS : usual;
}

/**
 * Random numbers from 0 to 1, ascending: one in each of `rounds` equal intervals. The same seed
 * gives the same numbers.
 */
export function spreadMoments(rounds: number): readonly number[] {
  const places = fc.sample(fc.noBias(fc.integer({ min: 0, max: 999 })), { seed, numRuns: rounds });
  return places.map((place, round) => (round + place / 1_000) / rounds);
}

/**
 * The same numbers, and then smaller ones until one came early enough to kill: a process can be
 * faster than the one whose duration was measured.
 */
export function* momentsToKill(rounds: number, hasKilled: () => boolean): Generator<number, void> {
  yield* spreadMoments(rounds);
  for (let moment = 0.5; !hasKilled(); moment /= 2) yield moment;
}

export function tellSeed(t: TestContext): void {
  t.diagnostic(`CORKBOARD_SEED=${seed}`);
}
