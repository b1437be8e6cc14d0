/** Kills a command before each of its steps that change something, each time in a new place. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { IS_LONG } from '../long.ts';
import { COMPILE_CACHE } from './command.ts';
import type { Place } from './places.ts';
import '../without-coverage.ts';

const MAIN = join(import.meta.dirname, 'killed-command.ts');
const DAY = Math.floor(Date.now() / 86_400_000);

/** First runs the command to its end, to count its steps. */
export async function* killedSteps(
  newPlace: () => Promise<Place>,
  words: readonly string[],
): AsyncGenerator<{ readonly place: Place; readonly step: number }> {
  const runIn = (place: Place, killBefore?: number) => runUntilStep([...words, ...place.words], killBefore);
  const whole = await runIn(await newPlace());
  assert.equal(whole.code, 0, whole.stderr);
  const count = whole.steps;
  assert.ok(count > 4, whole.stderr);
  for (const step of stepsOf(count)) {
    const place = await newPlace();
    const { isKilled, stderr } = await runIn(place, step);
    assert.ok(isKilled, `step ${step} of ${count}: ${stderr}`);
    yield { place, step };
  }
}

/**
 * Runs a command in a process that is killed before a step that changes something, from 1; absent:
 * nowhere. `steps`: how many there were, if it has ended.
 */
export async function runUntilStep(words: readonly string[], killBefore?: number) {
  const child = spawn(process.execPath, [MAIN, ...words], {
    env: {
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...process.env,
      KILL_BEFORE: String(killBefore ?? 'never'),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [stderr] = await Promise.all([text(child.stderr!), once(child, 'close')]);
  const steps = Number(/^steps: (\d+)$/m.exec(stderr)?.[1]);
  return { code: child.exitCode, isKilled: child.signalCode === 'SIGKILL', steps, stderr };
}

/**
 * Outside of long runs one near the start, one near the end, and one between, which changes from
 * day to day. Before the first step nothing was done, and before the last all but the audit.
 */
function stepsOf(count: number): readonly number[] {
  if (IS_LONG) return Array.from({ length: count }, (_, index) => index + 1);
  return [2, 3 + (DAY % (count - 4)), count - 1];
}
