/**
 * Threads that count events, one for each core: a count over many millions of events takes a
 * fraction of the time, and requests are served meanwhile. They end when there has been nothing to
 * count for a while, so that they hold no memory.
 */
import { availableParallelism } from 'node:os';
import type { Selection } from '../dataset/selection.ts';
import { AppError } from '../domain/app-error.ts';
import { WorkerThread } from '../system/worker-thread.ts';
import type { CountOrder, CountReply, SelectedEvents } from './count-job.ts';
import type { Counter } from './counter.ts';

/** Works in the source tree and in the build. */
const MAIN = new URL(`./count-thread-main${import.meta.url.slice(-3)}`, import.meta.url);

/**
 * Each thread has counts of its own, of at most some twenty megabytes for a million users, and a
 * list of at most 128 MB for a ranking.
 */
const MOST_THREADS = 8;
/** Fewer events are counted before the threads have started. */
const LEAST_EVENTS = 4_000_000;
const IDLE_MS = 10_000;
/** The arrays of the counts are not part of it. */
const LIMITS = { maxYoungGenerationSizeMb: 4 };

interface CountThreadsOptions {
  readonly threads?: number;
  /** Selections with fewer candidate rows are not divided. */
  readonly leastEvents?: number;
  readonly idleMs?: number;
}

export class CountThreads {
  readonly #threads: readonly WorkerThread<CountOrder, CountReply>[];
  readonly #leastEvents: number;
  readonly #idleMs: number;
  #counts = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor({
    threads = Math.min(availableParallelism(), MOST_THREADS),
    leastEvents = LEAST_EVENTS,
    idleMs = IDLE_MS,
  }: CountThreadsOptions = {}) {
    this.#threads = Array.from({ length: threads }, () => new WorkerThread(MAIN, LIMITS));
    this.#leastEvents = leastEvents;
    this.#idleMs = idleMs;
  }

  areFasterFor({ from, to }: Selection): boolean {
    return this.#threads.length > 1 && to - from >= this.#leastEvents;
  }

  /**
   * Each thread counts an equal share of the rows. Returns the parts in the order of the events.
   * Throws the `AppError` of a counter, and an error if a thread dies.
   */
  async count<Input, Part>(
    { version, events, selection }: SelectedEvents,
    counter: Counter<Input, Part>,
    input: Input,
  ): Promise<Part[]> {
    clearTimeout(this.#idle);
    this.#counts += 1;
    try {
      const shares = divide(selection, this.#threads.length);
      const parts = this.#threads.map((thread, at) => {
        const { job, ask } = thread.begin();
        return ask({ ...{ job, version, events, selection: shares[at]! }, counter: counter.name, input });
      });
      // The part is that of the counter with this name.
      return (await Promise.all(parts)).map((reply) => partOf(reply) as Part);
    } finally {
      this.#counts -= 1;
      if (this.#counts === 0) this.#idle = setTimeout(() => void this.close(), this.#idleMs).unref();
    }
  }

  /** Ends all threads; counts in progress fail. The next count starts them again. */
  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }
}

function divide(selection: Selection, count: number): Selection[] {
  const { from, to } = selection;
  const bound = (at: number) => from + Math.floor(((to - from) * at) / count);
  return Array.from({ length: count }, (_, at) => ({ ...selection, from: bound(at), to: bound(at + 1) }));
}

function partOf(reply: CountReply): unknown {
  if (reply.type === 'refused') throw new AppError(reply.code, reply.message);
  return reply.part;
}

/** The threads of this process. */
export const countThreads = new CountThreads();
