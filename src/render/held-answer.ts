/** Answers whose items are at hand already. */
import type { Answer } from './answer.ts';
import { type Frame, measureFramed, measureRun, type Run, renderHeld } from './frame.ts';

/** An answer of at most so many events is held as columns and needs one query; a larger one is tallied first. */
export const HELD_EVENTS = 2048;

/** Nothing is left to be read, or to be released. */
export function heldAnswer<Next>(frame: Frame, runs: readonly Run[], next: Next | undefined): Answer<Next> {
  const items = runs.reduce((sum, run) => sum + run.count, 0);
  const itemBytes = runs.reduce((sum, run) => sum + measureRun(run), 0);
  const byteLength = measureFramed(frame, items, itemBytes);
  return { byteLength, next, chunks: (memory) => renderHeld(frame, runs, byteLength, memory) };
}
