/**
 * Runs cases one after another and judges each, until the given number or time is reached. A
 * process cannot observe that it hangs or dies itself; `session.ts` judges that.
 */
import { openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { makeRandom, type Random } from '../../bench/random.ts';
import { Sandbox } from './sandbox.ts';
import { type Complaint, complaintsOf, type OpenTarget, type Target } from './target.ts';
import { TARGETS } from './targets.ts';

export interface RunnerOrder {
  readonly target: string;
  readonly seed: number;
  /** Number of the first case. */
  readonly from: number;
  /** The maximum number of cases, and the time after which none begins. */
  readonly cases: number;
  readonly forMs: number;
  /** Receives the number of the running case. */
  readonly progressFile: string;
  /** A case to run instead. */
  readonly replayed?: unknown;
}

export type RunnerMessage =
  | { readonly number: number; readonly complaint: Complaint; readonly one: unknown }
  /** An uncaught error may have left any state behind: the process ends. */
  | { readonly lost: true }
  | { readonly ended: RunFigures };

export interface RunFigures {
  readonly cases: number;
  readonly elapsedMs: number;
  /** The peak of resident memory. */
  readonly peakBytes: number;
  /** Resident after the first cases and at the end, both after a collection. */
  readonly earlyBytes: number;
  readonly lateBytes: number;
  readonly slowestMs: number;
  readonly slowestNumber: number;
}

const UNCAUGHT = ['unhandledRejection', 'uncaughtException'] as const;
/** The resident memory that one case may add. */
const MOST_CASE_BYTES = 384e6;
/** After this many cases, code and pools are loaded. */
const EARLY_CASES = 300;
/** The growth that may remain after all further cases. */
const MOST_GROWN_BYTES = 256e6;

export function randomOf(target: string, seed: number, number: number): Random {
  let state = seed;
  for (const character of `${target} ${number}`)
    state = Math.imul(state ^ character.charCodeAt(0), 0x01000193);
  return makeRandom(state);
}

export async function runCases(
  order: RunnerOrder,
  send: (message: RunnerMessage) => void,
): Promise<RunFigures> {
  const target = TARGETS.find(({ name }) => name === order.target) as Target;
  await using open = await target.open();
  using sandbox = new Sandbox();
  const run = new RowWriter(open, sandbox, order, send);
  const lose = (error: unknown) => {
    run.complain(complaintsOf(error));
    send({ lost: true });
  };
  for (const event of UNCAUGHT) process.once(event, lose);
  try {
    await run.all();
    return run.figures();
  } finally {
    for (const event of UNCAUGHT) process.off(event, lose);
  }
}

class RowWriter {
  readonly #open: OpenTarget;
  readonly #sandbox: Sandbox;
  readonly #order: RunnerOrder;
  readonly #progress: number;
  readonly #send: (message: RunnerMessage) => void;
  readonly #startMs = performance.now();
  #number: number;
  #one: unknown;
  #earlyBytes = 0;
  #slowestMs = 0;
  #slowestNumber = 0;

  constructor(
    open: OpenTarget,
    sandbox: Sandbox,
    order: RunnerOrder,
    send: (message: RunnerMessage) => void,
  ) {
    this.#send = send;
    this.#open = open;
    this.#sandbox = sandbox;
    this.#order = order;
    this.#number = order.from;
    this.#progress = openSync(order.progressFile, 'w');
  }

  async all(): Promise<void> {
    const { from, cases, forMs } = this.#order;
    while (this.#number < from + cases && performance.now() - this.#startMs < forMs) {
      if (this.#number === from + EARLY_CASES) this.#earlyBytes = residentBytes();
      await this.#runOne();
      this.#number += 1;
    }
    const grown = residentBytes() - this.#earlyBytes;
    if (this.#earlyBytes === 0 || grown <= MOST_GROWN_BYTES) return;
    this.complain([{ kind: 'memory', what: `${Math.round(grown / 1e6)} MB stay resident after all cases` }]);
  }

  complain(complaints: readonly Complaint[]): void {
    for (const complaint of complaints) this.#send({ number: this.#number, complaint, one: this.#one });
  }

  figures(): RunFigures {
    return {
      cases: this.#number - this.#order.from,
      elapsedMs: performance.now() - this.#startMs,
      peakBytes: statusBytes('VmHWM'),
      earlyBytes: this.#earlyBytes,
      lateBytes: residentBytes(),
      slowestMs: this.#slowestMs,
      slowestNumber: this.#slowestNumber,
    };
  }

  async #runOne(): Promise<void> {
    const { replayed, target, seed } = this.#order;
    writeSync(this.#progress, `${this.#number}\n`, 0);
    this.#one = replayed ?? this.#open.make(randomOf(target, seed, this.#number));
    const [resident, peak] = [statusBytes('VmRSS'), statusBytes('VmHWM')];
    const startMs = performance.now();
    try {
      this.complain(await this.#open.run(this.#one, this.#sandbox));
    } catch (error) {
      this.complain(complaintsOf(error));
    }
    this.#time(performance.now() - startMs);
    this.#weigh(resident, peak);
    this.complain(this.#sandbox.check());
  }

  #time(ms: number): void {
    if (ms <= this.#slowestMs) return;
    this.#slowestMs = ms;
    this.#slowestNumber = this.#number;
  }

  /** A new peak was caused by this case. */
  #weigh(residentBefore: number, peakBefore: number): void {
    const peak = statusBytes('VmHWM');
    if (peak <= peakBefore || peak - residentBefore <= MOST_CASE_BYTES) return;
    const added = Math.round((peak - residentBefore) / 1e6);
    this.complain([{ kind: 'memory', what: `${added} MB more were resident at the peak` }]);
    resetPeak();
  }
}

/** 0 if the system does not report it. */
function statusBytes(field: 'VmHWM' | 'VmRSS'): number {
  try {
    const text = readFileSync('/proc/self/status', 'latin1');
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

function resetPeak(): void {
  try {
    writeFileSync('/proc/self/clear_refs', '5');
  } catch {
    // Without permission, only the overall peak is known.
  }
}

/** Measured after a collection, if the process was started with `gc` exposed. */
function residentBytes(): number {
  Reflect.get(globalThis, 'gc')?.();
  return statusBytes('VmRSS');
}
