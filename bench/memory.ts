/**
 * Memory of a process and all its descendants, as Linux counts it. On other systems there are no
 * values, and the report shows a dash.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** Not more often: each sample walks the page tables of every process, which costs CPU time. */
const SAMPLE_EVERY_MS = 60;
const SETTLE_EVERY_MS = 250;
const SETTLE_ATTEMPTS = 80;
/** Memory is settled if three consecutive samples differ by less than this share. */
const SETTLED_SHARE = 0.01;

/** The process and all its descendants, oldest first. */
export function readProcessTree(pid: number): number[] {
  const below = readNames(`/proc/${pid}/task`)
    .flatMap((task) => readText(`/proc/${pid}/task/${task}/children`).split(' '))
    .filter((child) => child.trim() !== '');
  return [pid, ...below.flatMap((child) => readProcessTree(Number(child)))];
}

/** Proportional set size of all processes together, in bytes: shared memory counts once. */
export function readPss(pids: readonly number[]): number | undefined {
  return sum(pids, (pid) => readKibibytes(`/proc/${pid}/smaps_rollup`, 'Pss'));
}

/**
 * Peak resident memory since the start of the processes or the last `resetPeaks`, in bytes. Shared
 * memory counts once per process.
 */
export function readPeak(pids: readonly number[]): number | undefined {
  return sum(pids, (pid) => readKibibytes(`/proc/${pid}/status`, 'VmHWM'));
}

/** Resets the peaks of the processes. Does nothing if that is not possible. */
function resetPeaks(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      writeFileSync(`/proc/${pid}/clear_refs`, '5');
    } catch {
      // Without permission the old peak remains: it is too high, never too low.
    }
  }
}

/** Waits until the memory of the processes has settled, at most 20 seconds; returns it in bytes. */
export async function settledPss(roots: readonly number[]): Promise<number | undefined> {
  const last: number[] = [];
  for (let attempt = 0; attempt < SETTLE_ATTEMPTS; attempt++) {
    const now = readPss(roots.flatMap(readProcessTree));
    if (now === undefined) return undefined;
    last.push(now);
    const recent = last.slice(-3);
    if (recent.length === 3 && Math.max(...recent) - Math.min(...recent) < now * SETTLED_SHARE) return now;
    await new Promise((resolve) => setTimeout(resolve, SETTLE_EVERY_MS));
  }
  return last.at(-1);
}

export interface MemoryAboveIdle {
  /** The highest of many samples of the proportional set size, minus that at rest, in bytes. */
  readonly sampledBytes: number;
  /**
   * The sum of the resident peaks minus the resident sum at rest, in bytes. It misses no peak
   * between two samples, but does not show when processes stop sharing memory.
   */
  readonly residentBytes: number;
}

/**
 * The memory that the work adds to the processes at rest. Undefined if the system does not report
 * memory.
 */
export async function measureAboveIdle(
  roots: readonly number[],
  work: () => Promise<unknown>,
): Promise<MemoryAboveIdle | undefined> {
  const idle = await settledPss(roots);
  const pids = roots.flatMap(readProcessTree);
  const resident = sum(pids, (pid) => readKibibytes(`/proc/${pid}/status`, 'VmRSS'));
  resetPeaks(pids);
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, readPss(pids) ?? 0);
  }, SAMPLE_EVERY_MS);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  const bound = readPeak(pids);
  if (idle === undefined || resident === undefined || bound === undefined) return undefined;
  return { sampledBytes: Math.max(0, peak - idle), residentBytes: Math.max(0, bound - resident) };
}

function sum(pids: readonly number[], read: (pid: number) => number | undefined): number | undefined {
  const values = pids.map(read).filter((value) => value !== undefined);
  return values.length === 0 ? undefined : values.reduce((total, value) => total + value, 0);
}

function readKibibytes(path: string, field: string): number | undefined {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readText(path))?.[1];
  return found === undefined ? undefined : Number(found) * 1024;
}

export function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

function readNames(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
