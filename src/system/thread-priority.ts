/** The priority of the threads that work beside the one that serves requests. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

/** What the command `nice` adds. */
const NICER_BY = 10;
const MOST_NICE = 19;
const THREADS = '/proc/self/task';
/** How Node.js names worker threads and the threads that compress and read files. */
const NAMES: readonly string[] = ['WorkerThread', 'libuv-worker'];

/**
 * While there are more threads than cores, this thread goes before its worker threads and the
 * thread pool. Call it from the thread that serves, after the others have started. Changes nothing
 * except on Linux, where each thread has a nice value.
 */
export function goBeforeOtherThreads(): void {
  if (!existsSync(THREADS)) return;
  const niceness = Math.min(getPriority() + NICER_BY, MOST_NICE);
  for (const id of readdirSync(THREADS)) {
    try {
      const name = readFileSync(`${THREADS}/${id}/comm`, 'utf8').trimEnd();
      if (NAMES.includes(name)) setPriority(Number(id), niceness);
    } catch {
      // The thread has ended, or the system forbids it. Everything also works without.
    }
  }
}
