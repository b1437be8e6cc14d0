/** Kills a command before each of its steps that change something, each time in a new place. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { IS_LONG } from '../long.ts';
import type { Place } from './places.ts';
import '../without-coverage.ts';

const MAIN = join(import.meta.dirname, 'killed-command.ts');
const DAY = Math.floor(Date.now() / 86_400_000);

/** First runs the command to its end, to count its steps. */
export async function* killedSteps(
  newPlace: () => Promise<Place>,
  words: readonly string[],
): AsyncGenerator<{ readonly place: Place; readonly step: number }> {
  const runIn = async ({ words: ofPlace }: Place, killBefore: string) => {
    const child = spawn(process.execPath, [MAIN, ...words, ...ofPlace], {
      env: { ...process.env, KILL_BEFORE: killBefore },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [stderr] = await Promise.all([text(child.stderr!), once(child, 'close')]);
    return { child, stderr };
  };
  const whole = await runIn(await newPlace(), 'never');
  assert.equal(whole.child.exitCode, 0, whole.stderr);
  const count = Number(/^steps: (\d+)$/m.exec(whole.stderr)?.[1]);
  assert.ok(count > 4, whole.stderr);
  for (const step of stepsOf(count)) {
    const place = await newPlace();
    const { child, stderr } = await runIn(place, String(step));
    assert.equal(child.signalCode, 'SIGKILL', `step ${step} of ${count}: ${stderr}`);
    yield { place, step };
  }
}

/**
 * Outside of long runs one near the start, one near the end, and one between, which changes from
 * day to day. Before the first step nothing was done, and before the last all but the audit.
 */
function stepsOf(count: number): readonly number[] {
  if (IS_LONG) return Array.from({ length: count }, (_, index) => index + 1);
  return [2, 3 + (DAY % (count - 4)), count - 1];
}
