/**
 * A thread that renders and compresses large responses beside the thread that serves requests. Both
 * use shared memory, so no byte is copied between the two. It is started by `prepare` or when first
 * needed, and again after it has died.
 */
import { collectGarbage, MemoryReclaimer } from '../../system/memory-reclaimer.ts';
import { WorkerThread } from '../../system/worker-thread.ts';
import type { ParquetRows, ParquetTable } from './parquet-file.ts';
import { type Delivery, type RenderJob, RING_BYTES, type ThreadOrder } from './render-job.ts';

/** Works in the source tree and in the build. */
const MAIN = new URL(`./render-thread-main${import.meta.url.slice(-3)}`, import.meta.url);

/**
 * Few objects of the thread live long. Without a limit, many more megabytes of garbage would
 * accumulate before they are collected.
 */
const LIMITS = { maxYoungGenerationSizeMb: 4 };

export class RenderThread {
  readonly #thread = new WorkerThread<ThreadOrder, Delivery>(MAIN, LIMITS);
  /** Shared memory that neither thread uses any more. */
  readonly reclaimer = new MemoryReclaimer(() => {
    collectGarbage();
    this.#thread.tell({ type: 'collect' });
  });

  /** Starts the thread, so that the first job does not wait for it. */
  prepare(): void {
    this.#thread.prepare();
  }

  /**
   * The bytes of a job, in chunks of about a megabyte. A chunk is valid until the second one after
   * it is requested. Throws if the thread dies, or if the size of the output is not the announced
   * one.
   */
  async *render(render: RenderJob): AsyncGenerator<Uint8Array, void> {
    const { job, tell, ask } = this.#thread.begin();
    tell({ type: 'begin', job, render });
    try {
      // The thread fills one chunk ahead of the one that is awaited.
      const ahead = [ask({ type: 'next', job })];
      for (;;) {
        ahead.push(ask({ type: 'next', job }));
        const delivery = await ahead.shift();
        if (delivery?.type !== 'chunk' || delivery.chunk === undefined) return;
        yield delivery.chunk;
      }
    } finally {
      tell({ type: 'end', job });
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
    const { job, tell, ask } = this.#thread.begin();
    tell({ type: 'table', job, table });
    try {
      let before: Promise<Delivery> | undefined;
      for await (const some of rows) {
        const written = ask({ type: 'rows', job, rows: some });
        if (before !== undefined) yield bytesOf(await before);
        before = written;
      }
      if (before !== undefined) yield bytesOf(await before);
      yield bytesOf(await ask({ type: 'rows', job, rows: undefined }));
    } finally {
      tell({ type: 'end', job });
    }
  }

  /**
   * Compresses a block of shared memory, which must stay as it is until then. The result is memory
   * of its own. Throws if the thread dies.
   */
  async deflate(block: Uint8Array): Promise<Uint8Array> {
    const { job, ask } = this.#thread.begin();
    return bytesOf(await ask({ type: 'deflate', job, block }));
  }

  /** Terminates the thread; pending jobs fail. */
  async close(): Promise<void> {
    await this.#thread.close();
  }
}

function bytesOf(delivery: Delivery): Uint8Array {
  if (delivery.type === 'written') return delivery.bytes;
  throw new Error('The render thread has delivered something else.');
}
