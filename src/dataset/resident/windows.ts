/** Long work in pieces, so that other requests are served meanwhile. */
import { setImmediate } from 'node:timers/promises';

/** A window takes well below a millisecond, so that nobody notices the wait. */
export const WINDOW_ROWS = 65_536;

/** Does `work` for `[from, to)` in windows, and lets others go ahead between two of them. */
export async function inWindows(
  from: number,
  to: number,
  work: (from: number, to: number) => void,
): Promise<void> {
  for (let start = from; start < to; start += WINDOW_ROWS) {
    if (start > from) await setImmediate();
    work(start, Math.min(start + WINDOW_ROWS, to));
  }
}
