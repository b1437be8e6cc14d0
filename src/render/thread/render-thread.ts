/**
 * A thread that renders large responses beside the thread that serves requests. It writes to shared
 * memory, so no byte is copied between the two. It is started by `prepare` or when first needed,
 * and again after it has died.
 */
import { Worker } from 'node:worker_threads';
import { collectGarbage, MemoryReclaimer } from './memory-reclaimer.ts';
import type { ParquetRows, ParquetTable } from './parquet-file.ts';
import { type Delivery, type RenderJob, RING_BYTES, type ThreadOrder } from './render-job.ts';

/** Works in the source tree and in the build. */
const MAIN = new URL(`./render-thread-main${import.meta.url.slice(-3)}`, import.meta.url);

/**
 * Few objects of the thread live long. Without a limit, many more megabytes of garbage would
 * accumulate before they are collected.
 */
const LIMITS = { maxYoungGenerationSizeMb: 4 };

interface Awaited {
  readonly resolve: (delivery: Delivery) => void;
  readonly reject: (error: Error) => void;
}

export class RenderThread {
  /** Shared memory that neither thread uses any more. */
  readonly reclaimer = new MemoryReclaimer(() => {
    collectGarbage();
    this.#worker?.postMessage({ type: 'collect' } satisfies ThreadOrder);
  });
  #worker: Worker | undefined;
  #jobs = 0;
  /** Pending replies by job; replies arrive in the order of the messages. */
  readonly #awaited = new Map<number, Awaited[]>();

  /** Starts the thread, so that the first job does not wait for it. */
  prepare(): void {
    if (this.#worker === undefined) this.#start().unref();
  }

  /**
   * The bytes of a job, in chunks of about a megabyte. A chunk is valid until the second one after
   * it is requested. Throws if the thread dies, or if the size of the output is not the announced
   * one.
   */
  async *render(render: RenderJob): AsyncGenerator<Uint8Array, void> {
    this.#jobs += 1;
    const job = this.#jobs;
    const worker = this.#start();
    worker.postMessage({ type: 'begin', job, render } satisfies ThreadOrder);
    try {
      // The thread fills one chunk ahead of the one that is awaited.
      const ahead = [this.#ask(worker, { type: 'next', job })];
      for (;;) {
        ahead.push(this.#ask(worker, { type: 'next', job }));
        const delivery = await ahead.shift();
        if (delivery?.type !== 'chunk' || delivery.chunk === undefined) return;
        yield delivery.chunk;
      }
    } finally {
      worker.postMessage({ type: 'end', job } satisfies ThreadOrder);
      this.reclaimer.add(RING_BYTES);
    }
  }

  /**
   * The bytes of a Parquet file, in buffers of about a row group at most; some are empty. The
   * thread works while the next rows are read. Throws if the thread dies, and passes on errors of
   * `rows`.
   */
  async *writeParquet(
    table: ParquetTable,
    rows: AsyncIterable<ParquetRows> | Iterable<ParquetRows>,
  ): AsyncGenerator<Uint8Array, void> {
    this.#jobs += 1;
    const job = this.#jobs;
    const worker = this.#start();
    const bytesOf = (delivery: Delivery) => {
      if (delivery.type === 'written') return delivery.bytes;
      throw new Error('The render thread has delivered something else.');
    };
    worker.postMessage({ type: 'table', job, table } satisfies ThreadOrder);
    try {
      let before: Promise<Delivery> | undefined;
      for await (const some of rows) {
        const written = this.#ask(worker, { type: 'rows', job, rows: some });
        if (before !== undefined) yield bytesOf(await before);
        before = written;
      }
      if (before !== undefined) yield bytesOf(await before);
      yield bytesOf(await this.#ask(worker, { type: 'rows', job, rows: undefined }));
    } finally {
      worker.postMessage({ type: 'end', job } satisfies ThreadOrder);
    }
  }

  /** Terminates the thread; pending jobs fail. */
  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #start(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const worker = new Worker(MAIN, { resourceLimits: LIMITS });
    worker.on('message', (delivery: Delivery) => this.#receive(delivery));
    worker.on('error', (error) => this.#fail(worker, error));
    worker.on('exit', () => this.#fail(worker, new Error('The render thread has ended.')));
    this.#worker = worker;
    return worker;
  }

  #ask(worker: Worker, order: Extract<ThreadOrder, { job: number }>): Promise<Delivery> {
    const { promise, resolve, reject } = Promise.withResolvers<Delivery>();
    // The reply is requested ahead and may never be awaited.
    promise.catch(() => undefined);
    if (this.#worker !== worker) {
      // A message to a terminated thread would be neither delivered nor rejected.
      reject(new Error('The render thread has ended.'));
      return promise;
    }
    const awaited = this.#awaited.get(order.job) ?? [];
    awaited.push({ resolve, reject });
    this.#awaited.set(order.job, awaited);
    // A thread with pending replies keeps the process alive; an idle one does not.
    worker.ref();
    worker.postMessage(order);
    return promise;
  }

  #receive(delivery: Delivery): void {
    const awaited = this.#awaited.get(delivery.job);
    const first = awaited?.shift();
    if (awaited?.length === 0) this.#awaited.delete(delivery.job);
    if (this.#awaited.size === 0) this.#worker?.unref();
    if (delivery.type === 'failed') first?.reject(new Error(delivery.message));
    else first?.resolve(delivery);
  }

  #fail(worker: Worker, error: unknown): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    const reason = new Error('The render thread has failed.', { cause: error });
    for (const awaited of this.#awaited.values()) for (const { reject } of awaited) reject(reason);
    this.#awaited.clear();
  }
}
