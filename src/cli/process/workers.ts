/**
 * Several processes on one port. The primary opens no data: it starts workers, replaces workers
 * that die, counts the rate limits, sums the metrics of all workers, and stops them together.
 */
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { AppError } from '../../domain/app-error.ts';
import type { RunningServer, ServerOptions } from '../../server/start.ts';
import { freeMemory } from '../../system/machine-memory.ts';
import { readTrouble, SHARED_MEMORY, STOP, type WorkerMessage } from './worker.ts';

/** If a worker dies after this time, its start is not the cause. */
const STEADY_MS = 10_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 30_000;

export interface WorkersOptions {
  /** At least 2. */
  readonly workers: number;
  /** Not 0: each worker might get a different port. */
  readonly port: number;
  readonly logLevel: ServerOptions['logLevel'];
  /** Passed to the workers in their environment. */
  readonly database?: string | undefined;
}

/**
 * Resolves when all workers listen. If a worker cannot listen, throws its error, as a single
 * process would.
 */
export async function startWorkers(options: WorkersOptions): Promise<RunningServer> {
  const { RateLimiterClusterMaster } = await import('rate-limiter-flexible');
  const { gatherMetrics } = await import('../../server/observability/cluster-metrics.ts');
  const { operationOfAll } = await import('../../server/observability/cluster-health.ts');
  cluster.setupPrimary({
    args: [...withoutDatabase(process.argv.slice(2)), '--port', String(options.port)],
    // JSON cannot represent NaN, which is a possible value of a metric.
    serialization: 'advanced',
  });
  new RateLimiterClusterMaster();
  const metrics = gatherMetrics();
  const workers = new Workers(options);
  try {
    // One worker starts before the others: it creates the data folder, and an error is reported
    // only once.
    const address = await workers.add();
    await Promise.all(Array.from({ length: options.workers - 1 }, () => workers.add()));
    const operation = operationOfAll(workers, options.workers, metrics);
    return { address, operation, stop: () => workers.stop() };
  } catch (error) {
    workers.kill();
    throw error;
  }
}

/** The arguments without URLs of databases, so that the process list does not show them again. */
function withoutDatabase(args: readonly string[]): string[] {
  const names = /^--database$/;
  return args.filter(
    (arg, index) => !names.test(arg) && !names.test(args[index - 1] ?? '') && !/^--database=/.test(arg),
  );
}

/** Throws the error of the socket if the address cannot be used. */
export async function findFreePort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

interface Process {
  readonly worker: Worker;
  readonly startMs: number;
  /** The address on which it listens; undefined if it ends before it listens. */
  readonly address: Promise<string | undefined>;
  readonly ending: Promise<WorkerEnd>;
}

interface WorkerEnd {
  readonly code: number | null;
  readonly signal: string | null;
  /** The error that the worker reported. */
  readonly failure: Error | undefined;
}

class Workers {
  readonly #logLevel: ServerOptions['logLevel'];
  readonly #environment: Readonly<Record<string, string>>;
  readonly #running = new Set<Process>();
  readonly #listening = new Set<Worker>();
  readonly #stopping = new AbortController();

  constructor({ logLevel, database = '' }: WorkersOptions) {
    this.#environment = { CORKBOARD_DATABASE: database, [SHARED_MEMORY]: String(freeMemory()) };
    this.#logLevel = logLevel;
  }

  /**
   * Adds a worker, which is replaced if it dies. Returns its address. Throws if it cannot listen.
   */
  async add(): Promise<string> {
    const first = this.#start();
    const address = await first.address;
    if (address === undefined) {
      const { code, signal, failure } = await first.ending;
      const ending = `A worker ended before it could serve (${signal ?? `exit code ${code}`})`;
      throw (
        failure ??
        new AppError('settings-refused', `${ending}. If memory is short, use fewer workers (--workers).`)
      );
    }
    void this.#replace(first);
    return address;
  }

  /** Lets responses in progress end. Throws the error of a worker; sets exit code 1 if one dies. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const endings = [...this.#running].map(({ worker, ending }) => {
      if (this.#listening.has(worker)) worker.send(STOP);
      // It has no requests yet.
      else worker.process.kill('SIGKILL');
      return ending;
    });
    for (const { code, failure } of await Promise.all(endings)) {
      if (failure !== undefined) throw failure;
      if (code !== 0) process.exitCode = 1;
    }
  }

  get isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  listening(): readonly Worker[] {
    return [...this.#listening];
  }

  kill(): void {
    this.#stopping.abort();
    for (const { worker } of this.#running) worker.process.kill('SIGKILL');
  }

  #start(): Process {
    const worker = cluster.fork(this.#environment);
    const address = Promise.withResolvers<string | undefined>();
    const ending = Promise.withResolvers<WorkerEnd>();
    const running = { worker, startMs: performance.now(), address: address.promise, ending: ending.promise };
    let failure: Error | undefined;
    this.#running.add(running);
    worker.on('message', (message: WorkerMessage) => {
      if (message.type === 'listening') {
        this.#listening.add(worker);
        address.resolve(message.address);
      } else if (message.type === 'failed') {
        failure = readTrouble(message.trouble);
        worker.process.kill('SIGKILL');
      }
    });
    // Sending to a worker that has just died fails; its exit is handled below.
    worker.on('error', () => {});
    worker.once('exit', (code: number | null, signal: string | null) => {
      this.#listening.delete(worker);
      this.#running.delete(running);
      address.resolve(undefined);
      ending.resolve({ code, signal, failure });
    });
    return running;
  }

  /** Replaces a worker, and each of its successors, until the stop. */
  async #replace(first: Process): Promise<void> {
    let present = first;
    for (let earlyDeaths = 0; ; ) {
      const ending = await present.ending;
      if (this.#stopping.signal.aborted) return;
      earlyDeaths = performance.now() - present.startMs < STEADY_MS ? earlyDeaths + 1 : 0;
      const pauseMs = Math.min(
        earlyDeaths === 0 ? 0 : FIRST_PAUSE_MS * 2 ** (earlyDeaths - 1),
        LONGEST_PAUSE_MS,
      );
      this.#logDeath(present.worker.id, ending, pauseMs);
      await setTimeout(pauseMs, undefined, { signal: this.#stopping.signal }).catch(() => {});
      if (this.#stopping.signal.aborted) return;
      present = this.#start();
    }
  }

  #logDeath(worker: number, { code, signal, failure }: WorkerEnd, pauseMs: number): void {
    if (this.#logLevel === 'fatal' || this.#logLevel === 'silent') return;
    const line = {
      level: 'error',
      time: new Date().toISOString(),
      worker,
      // After a reported failure, this process killed the worker: its signal explains nothing.
      ...(failure === undefined && { exit_code: code, signal }),
      err: failure && { type: failure.name, message: failure.message, stack: failure.stack },
      pause_ms: pauseMs,
      msg: 'worker died; another takes its place',
    };
    process.stderr.write(`${JSON.stringify(line)}\n`);
  }
}
