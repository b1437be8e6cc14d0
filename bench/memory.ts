/**
 * Memory of another process and all processes under it, as Linux counts it. Elsewhere there are no figures, and the
 * report shows a dash.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** Reading walks the page tables of every process, which costs the two cores more than a sample is worth. */
const SAMPLE_EVERY_MS = 60;
const SETTLE_EVERY_MS = 250;
const SETTLE_ATTEMPTS = 80;
/** Idle: three samples in a row this near to each other. */
const SETTLED_SHARE = 0.01;

/** The process and all that it and its children have started, oldest first. */
export function readProcessTree(pid: number): number[] {
  const below = readNames(`/proc/${pid}/task`)
    .flatMap((task) => readText(`/proc/${pid}/task/${task}/children`).split(' '))
    .filter((child) => child.trim() !== '');
  return [pid, ...below.flatMap((child) => readProcessTree(Number(child)))];
}

/** Proportional set size of all processes together, in bytes: what several share counts once. */
export function readPss(pids: readonly number[]): number | undefined {
  return sum(pids, (pid) => readKibibytes(`/proc/${pid}/smaps_rollup`, 'Pss'));
}

/** The most that was ever resident, or since the peaks were reset, in bytes; what several share counts each time. */
export function readPeak(pids: readonly number[]): number | undefined {
  return sum(pids, (pid) => readKibibytes(`/proc/${pid}/status`, 'VmHWM'));
}

/** Peaks count anew from here. Does nothing where that is not possible. */
function resetPeaks(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      writeFileSync(`/proc/${pid}/clear_refs`, '5');
    } catch {
      // Without the right to it, the peak stays what it was: too high, never too low.
    }
  }
}

/** Waits until the memory of the processes has come to rest, at most twenty seconds, and gives it in bytes. */
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
  /** The highest of many samples of the proportional set size, less that at rest, in bytes. */
  readonly sampledBytes: number;
  /**
   * The sum of the resident peaks, less the resident sum at rest: misses no peak between two samples, but does not
   * see when processes cease to share something.
   */
  readonly residentBytes: number;
}

/** What the work adds to the memory of the processes at rest. Absent where the system does not tell. */
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
