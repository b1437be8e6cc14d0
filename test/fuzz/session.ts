/**
 * Runs the cases of one target in a separate process, and continues with the next case if that
 * process hangs or dies.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readText } from '../../bench/memory.ts';
import { type RunFigures, type RunnerMessage, type RunnerOrder, randomOf } from './runner.ts';
import type { Complaint } from './target.ts';
import { TARGETS } from './targets.ts';

export interface Found extends Complaint {
  readonly target: string;
  readonly seed: number;
  readonly number: number;
  /** The case that a replay runs. */
  readonly one: unknown;
}

export interface Plan {
  readonly target: string;
  readonly seed: number;
  readonly cases: number;
  readonly forMs: number;
  readonly replayed?: unknown;
  readonly onFound: (found: Found) => void;
}

export interface SessionFigures {
  readonly cases: number;
  readonly elapsedMs: number;
  readonly peakBytes: number;
  /**
   * The growth of resident memory from the first cases to the end, in the longest run of one
   * process.
   */
  readonly grownBytes: number;
  readonly slowestMs: number;
  readonly slowestNumber: number;
}

/** In memory if the system has such a folder: cases write and synchronize thousands of files. */
const SCRATCH = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
/**
 * A case that computes for longer hangs; so does one that waits for longer, even on a busy machine.
 */
const CASE_CPU_MS = 10_000;
const CASE_MS = 40_000;
const START_MS = 120_000;
const LOOK_MS = 200;
/** The memory limit of a process of cases. */
const MOST_BYTES = 3e9;
const HEAP_MIB = 1024;
/** Bounds the restarts of a process that cannot even start. */
const MOST_STARTS = 200;

export async function runSession(plan: Plan): Promise<SessionFigures> {
  const startMs = performance.now();
  const ended: RunFigures[] = [];
  let peakBytes = 0;
  let next = 0;
  for (let starts = 0; starts < MOST_STARTS; starts++) {
    const leftMs = plan.forMs - (performance.now() - startMs);
    if (next >= plan.cases || leftMs <= 0) break;
    const figures = await runProcess(plan, next, leftMs, (bytes) => {
      peakBytes = Math.max(peakBytes, bytes);
    });
    if (typeof figures === 'number') next = figures + 1;
    else {
      ended.push(figures);
      next += figures.cases;
      break;
    }
  }
  const slowest = ended.reduce<RunFigures | undefined>(
    (one, other) => (one && one.slowestMs > other.slowestMs ? one : other),
    undefined,
  );
  return {
    cases: next,
    elapsedMs: performance.now() - startMs,
    peakBytes: Math.max(peakBytes, ...ended.map((one) => one.peakBytes)),
    grownBytes: Math.max(
      0,
      ...ended.map(({ earlyBytes, lateBytes }) => (earlyBytes === 0 ? 0 : lateBytes - earlyBytes)),
    ),
    slowestMs: slowest?.slowestMs ?? 0,
    slowestNumber: slowest?.slowestNumber ?? 0,
  };
}

/** Returns the figures, or the number of the case at which the process was lost. */
async function runProcess(
  plan: Plan,
  from: number,
  forMs: number,
  onResident: (bytes: number) => void,
): Promise<RunFigures | number> {
  const folder = mkdtempSync(join(SCRATCH, 'corkboard-fuzz-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  // Also removed when this process is interrupted.
  process.once('exit', remove);
  const { target, seed } = plan;
  const progressFile = join(folder, 'progress');
  const child = fork(new URL('./runner-main.ts', import.meta.url), {
    execArgv: ['--expose-gc', `--max-old-space-size=${HEAP_MIB}`],
    // Temporary files are removed with the folder, even if the process is killed.
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  let figures: RunFigures | undefined;
  let isLost = false;
  child.on('message', (message: RunnerMessage) => {
    if ('ended' in message) figures = message.ended;
    else if ('lost' in message) isLost = true;
    else plan.onFound({ ...message.complaint, target, seed, number: message.number, one: message.one });
  });
  const order: RunnerOrder = {
    target,
    seed,
    from,
    cases: plan.cases - from,
    forMs,
    progressFile,
    replayed: plan.replayed,
  };
  // The code below detects a process that has already ended.
  child.on('error', () => {});
  child.send(order);
  const watch = watchProcess(child, () => numberIn(progressFile), onResident);
  try {
    const [printed] = await Promise.all([tailOf(child), once(child, 'exit')]);
    if (figures !== undefined) return figures;
    const number = numberIn(progressFile);
    if (number === undefined) throw new Error(`${target} cannot be begun: ${printed}`);
    if (isLost) return number;
    const complaint = watch.complaint() ?? { kind: 'crash', what: crashOf(child, printed) };
    plan.onFound({ ...complaint, target, seed, number, one: await caseOf(plan, number) });
    return number;
  } finally {
    watch.end();
    process.off('exit', remove);
    remove();
  }
}

/** Kills a process that stays at one case for too long, or takes too much memory. */
function watchProcess(
  child: ChildProcess,
  readNumber: () => number | undefined,
  onResident: (bytes: number) => void,
) {
  let complaint: Complaint | undefined;
  let number: number | undefined;
  let since = { ms: performance.now(), cpuMs: 0 };
  const kill = (found: Complaint) => {
    complaint ??= found;
    child.kill('SIGKILL');
  };
  const timer = setInterval(() => {
    const [now, cpuMs] = [readNumber(), readCpuMs(child.pid)];
    if (now !== number) since = { ms: performance.now(), cpuMs };
    number = now;
    const waitedMs = performance.now() - since.ms;
    const isStarting = number === undefined;
    const hangs = isStarting ? waitedMs > START_MS : waitedMs > CASE_MS || cpuMs - since.cpuMs > CASE_CPU_MS;
    if (hangs)
      kill({ kind: 'hang', what: isStarting ? 'the seeds take too long' : 'one case takes too long' });
    const resident = residentBytes(child.pid);
    onResident(resident);
    if (resident > MOST_BYTES)
      kill({ kind: 'memory', what: `more than ${MOST_BYTES / 1e9} GB are resident` });
  }, LOOK_MS);
  return { complaint: () => complaint, end: () => clearInterval(timer) };
}

const TICK_MS = 10;

/** CPU time of the process, in all its threads; 0 if the system does not report it. */
function readCpuMs(pid: number | undefined): number {
  const fields = readText(`/proc/${pid}/stat`)
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * TICK_MS;
}

function numberIn(file: string): number | undefined {
  const number = Number.parseInt(readText(file), 10);
  return Number.isNaN(number) ? undefined : number;
}

function residentBytes(pid: number | undefined): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readText(`/proc/${pid}/status`))?.[1] ?? 0) * 1024;
}

async function tailOf(child: ChildProcess): Promise<string> {
  let printed = '';
  for await (const part of child.stderr ?? []) printed = `${printed}${part}`.slice(-4_000);
  return printed;
}

function crashOf({ exitCode, signalCode }: ChildProcess, printed: string): string {
  const line = printed.split('\n').find((one) => /error|fatal|assert/i.test(one)) ?? '';
  return `the process ended with ${signalCode ?? exitCode}: ${line.trim().slice(0, 200)}`;
}

/** Makes the case again, since the process that ran it is gone. */
async function caseOf({ target, seed, replayed }: Plan, number: number): Promise<unknown> {
  if (replayed !== undefined) return replayed;
  const open = await TARGETS.find(({ name }) => name === target)?.open();
  try {
    return open?.make(randomOf(target, seed, number));
  } finally {
    await open?.[Symbol.asyncDispose]();
  }
}
