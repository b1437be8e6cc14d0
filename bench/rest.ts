/**
 * Waits for what servers still do after their first responses, such as making or reading the
 * fragments of all records. On systems other than Linux it waits for three seconds.
 */
import { setTimeout } from 'node:timers/promises';
import { askOnce, type Bed } from './bed.ts';
import { readProcessTree, readText } from './memory.ts';

/** After this number of small responses a process makes the fragments of all records. */
const RESPONSES = 8;

const LOOK_EVERY_MS = 1_000;
/** In ticks of 10 ms: less CPU time in a second is that of timers. */
const TICKS_AT_REST = 5;
/** Work in the background may wait for a moment without requests. */
const SECONDS_AT_REST = 3;
const MOST_SECONDS = 120;

export async function askForFragments(bed: Bed, signal: AbortSignal): Promise<void> {
  const processes = readProcessTree(bed.server.pid).length;
  for (let response = 0; response < RESPONSES * processes; response++) await askOnce(bed, signal);
}

/** Throws if a process is still busy after two minutes. */
export async function untilAtRest(roots: readonly number[], signal: AbortSignal): Promise<void> {
  let last = readTicks(roots);
  let quiet = 0;
  for (let second = 0; second < MOST_SECONDS; second++) {
    await setTimeout(LOOK_EVERY_MS, undefined, { signal });
    const now = readTicks(roots);
    quiet = now - last <= TICKS_AT_REST ? quiet + 1 : 0;
    if (quiet === SECONDS_AT_REST) return;
    last = now;
  }
  throw new Error('A server was still busy after two minutes.');
}

/** CPU time that the processes have used, in ticks. */
function readTicks(roots: readonly number[]): number {
  return roots.flatMap(readProcessTree).reduce((sum, pid) => {
    // The name of the program, in parentheses, can contain blanks.
    const fields = readText(`/proc/${pid}/stat`).split(') ').at(-1)!.split(' ');
    return sum + Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
  }, 0);
}
