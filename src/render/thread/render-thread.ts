/**
 * A thread that renders large answers beside the one that serves: what it writes lies in shared memory, so that no
 * byte is copied between the two. Started when it is prepared or first needed, and again when it has died.
 */
import { Worker } from 'node:worker_threads';
import { collectGarbage, Garbage } from './garbage.ts';
import type { ParquetRows, ParquetTable } from './parquet-file.ts';
import { type Delivery, type RenderJob, RING_BYTES, type ThreadOrder } from './render-job.ts';

/** Runs from source and from what is built. */
const MAIN = new URL(`./render-thread-main${import.meta.url.slice(-3)}`, import.meta.url);

/** Little that the thread makes lives long; without a limit, 16 MB and more would pile up before it is collected. */
const LIMITS = { maxYoungGenerationSizeMb: 4 };

interface Awaited {
  readonly resolve: (delivery: Delivery) => void;
  readonly reject: (error: Error) => void;
}

export class RenderThread {
  /** Shared memory that this thread and the other one have let go of. */
  readonly garbage = new Garbage(() => {
    collectGarbage();
    this.#worker?.postMessage({ type: 'collect' } satisfies ThreadOrder);
  });
  #worker: Worker | undefined;
  #jobs = 0;
  /** By job; deliveries come in the order of the orders. */
  readonly #awaited = new Map<number, Awaited[]>();

  /** Starts the thread, so that the first job does not wait for it. */
  prepare(): void {
    if (this.#worker === undefined) this.#start().unref();
  }

  /**
   * The bytes of a job in chunks of about a megabyte. A chunk stays as it is until the second one after it is asked
   * for. Throws when the thread dies, or what it makes is not as long as announced.
   */
  async *render(render: RenderJob): AsyncGenerator<Uint8Array, void> {
    this.#jobs += 1;
    const job = this.#jobs;
    const worker = this.#start();
    worker.postMessage({ type: 'begin', job, render } satisfies ThreadOrder);
    try {
      // The thread fills one chunk ahead of the one that is waited for.
      const ahead = [this.#ask(worker, { type: 'next', job })];
      for (;;) {
        ahead.push(this.#ask(worker, { type: 'next', job }));
        const delivery = await ahead.shift();
        if (delivery?.type !== 'chunk' || delivery.chunk === undefined) return;
        yield delivery.chunk;
      }
    } finally {
      worker.postMessage({ type: 'end', job } satisfies ThreadOrder);
      this.garbage.add(RING_BYTES);
    }
  }

  /**
   * The bytes of a Parquet file in pieces of at most a row group; some are empty. The thread works while the next rows
   * are read. Throws when the thread dies, and what `rows` throws.
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

  /** Ends the thread; what is under way fails. */
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
    // Asked for ahead and perhaps never waited for.
    promise.catch(() => undefined);
    if (this.#worker !== worker) {
      // A message to a thread that has ended would be neither delivered nor refused.
      reject(new Error('The render thread has ended.'));
      return promise;
    }
    const awaited = this.#awaited.get(order.job) ?? [];
    awaited.push({ resolve, reject });
    this.#awaited.set(order.job, awaited);
    // An idle thread keeps no process alive, one that is waited for does.
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
