/** Work under a clock that advances by the time of a slice whenever it is read. */
import { mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { SLICE_MS, TURNS_BETWEEN } from '../src/system/time-slice.ts';

/** Runs the work and counts the turns of the event loop meanwhile. */
export async function withTimeRunning<T>(
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly turns: number }> {
  let nowMs = performance.now();
  const clock = mock.method(performance, 'now', () => {
    nowMs += SLICE_MS;
    return nowMs;
  });
  let turns = 0;
  let isDone = false;
  const count = () => {
    if (isDone) return;
    turns += 1;
    setImmediate(count);
  };
  setImmediate(count);
  try {
    const result = await work();
    return { result, turns };
  } finally {
    isDone = true;
    // After these turns no slice ends by this clock.
    for (let nth = 0; nth <= TURNS_BETWEEN; nth++) await turn();
    clock.mock.restore();
  }
}
