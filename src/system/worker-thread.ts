/** A thread that does jobs for this one, on request, and is started again after it has died. */
import { type ResourceLimits, Worker } from 'node:worker_threads';
import { goBeforeOtherThreads } from './thread-priority.ts';

export interface OfJob {
  readonly job: number;
}

/** Reply to a message whose job has failed. */
export interface JobFailure extends OfJob {
  readonly type: 'failed';
  readonly message: string;
}

interface Awaited<Reply> {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
}

/** `Order` are the messages to the thread, `Reply` those from it. */
export class WorkerThread<Order, Reply extends OfJob> {
  readonly #main: URL;
  readonly #limits: ResourceLimits;
  #worker: Worker | undefined;
  #jobs = 0;
  /** Pending replies by job; replies arrive in the order of the messages. */
  readonly #awaited = new Map<number, Awaited<Reply>[]>();

  /** `main` is the module that the thread runs. */
  constructor(main: URL, limits: ResourceLimits) {
    this.#main = main;
    this.#limits = limits;
  }

  /** Starts the thread, so that the first job does not wait for it. */
  prepare(): void {
    if (this.#worker === undefined) this.#start().unref();
  }

  /** Sends a message that has no reply; ignored if the thread is not running. */
  tell(order: Order): void {
    this.#worker?.postMessage(order);
  }

  /** Begins a job; the thread is started if it is not running. */
  begin(): ThreadJob<Order, Reply> {
    const worker = this.#start();
    this.#jobs += 1;
    const job = this.#jobs;
    return { job, tell: (order) => worker.postMessage(order), ask: (order) => this.#ask(worker, job, order) };
  }

  /** Terminates the thread; pending jobs fail. The next job starts it again. */
  async close(): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return;
    this.#fail(worker, new Error('The thread was closed.'));
    await worker.terminate();
  }

  #start(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const worker = new Worker(this.#main, { resourceLimits: this.#limits });
    worker.once('online', goBeforeOtherThreads);
    worker.on('message', (reply: Reply | JobFailure) => this.#receive(worker, reply));
    worker.on('error', (error) => this.#fail(worker, error));
    worker.on('exit', () => this.#fail(worker, new Error('The thread has ended.')));
    this.#worker = worker;
    return worker;
  }

  #ask(worker: Worker, job: number, order: Order): Promise<Reply> {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    // The reply is requested ahead and may never be awaited.
    promise.catch(() => undefined);
    if (this.#worker !== worker) {
      // A message to a terminated thread would be neither delivered nor rejected.
      reject(new Error('The thread has ended.'));
      return promise;
    }
    const awaited = this.#awaited.get(job) ?? [];
    awaited.push({ resolve, reject });
    this.#awaited.set(job, awaited);
    // A thread with pending replies keeps the process alive; an idle one does not.
    worker.ref();
    worker.postMessage(order);
    return promise;
  }

  #receive(worker: Worker, reply: Reply | JobFailure): void {
    if (this.#worker !== worker) return;
    const awaited = this.#awaited.get(reply.job);
    const first = awaited?.shift();
    if (awaited?.length === 0) this.#awaited.delete(reply.job);
    if (this.#awaited.size === 0) worker.unref();
    if (isFailure(reply)) first?.reject(new Error(reply.message));
    else first?.resolve(reply);
  }

  #fail(worker: Worker, error: unknown): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    const reason = new Error('A thread of the server has failed.', { cause: error });
    for (const awaited of this.#awaited.values()) for (const { reject } of awaited) reject(reason);
    this.#awaited.clear();
  }
}

/** A job of a thread. Its messages fail once that thread has died, even if another one runs. */
export interface ThreadJob<Order, Reply> {
  /** Number of the job; its messages and their replies have the same number. */
  readonly job: number;
  /** Sends a message that has no reply. */
  tell(order: Order): void;
  /** Resolves with the reply; rejects if the job or the thread fails. */
  ask(order: Order): Promise<Reply>;
}

function isFailure(reply: OfJob): reply is JobFailure {
  return 'type' in reply && reply.type === 'failed';
}

/** The failure of a job, with the place of the error. */
export function failureOf(job: number, error: unknown): JobFailure {
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { type: 'failed', job, message };
}
