/** Kills a command before each of its steps that change something, each time in a new place. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { IS_LONG } from '../long.ts';
import type { Place } from './places.ts';

const MAIN = join(import.meta.dirname, 'killed-command.ts');
/** Outside of long runs only some steps; which ones changes from day to day. */
const STRIDE = IS_LONG ? 1 : 3;

/** Ends with the first run that is not killed because it has fewer steps. */
export async function* killedSteps(
  newPlace: () => Promise<Place>,
  words: readonly string[],
): AsyncGenerator<{ readonly place: Place; readonly step: number }> {
  for (let step = 1 + (Math.floor(Date.now() / 86_400_000) % STRIDE); ; step += STRIDE) {
    const place = await newPlace();
    const child = spawn(process.execPath, [MAIN, ...words, ...place.words], {
      env: { ...process.env, KILL_BEFORE: String(step) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [stderr] = await Promise.all([text(child.stderr!), once(child, 'close')]);
    if (child.signalCode !== 'SIGKILL') {
      assert.equal(child.exitCode, 0, stderr);
      return;
    }
    yield { place, step };
  }
}
