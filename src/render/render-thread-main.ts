/** Inside a render thread: fills chunks and compresses pieces, each when it is asked for, jobs in turn. */
import { parentPort } from 'node:worker_threads';
import { ChunkRing, measureFramed, measureRun, renderChunksAtOnce } from './frame.ts';
import { pack } from './packing.ts';
import { type Delivery, type Order, type Packing, type RenderJob, runsOf } from './render-job.ts';

/** Long enough that what is said between threads costs nothing beside it, and short enough for a core's cache. */
const CHUNK_BYTES = 1024 * 1024;
/** One leaves, one is ready, one is filled. */
const CHUNKS = 3;

const jobs = new Map<number, Generator<Uint8Array, void>>();

parentPort?.on('message', (order: Order) => {
  try {
    obey(order);
  } catch (error) {
    fail(order.job, error);
  }
});

function obey(order: Order): void {
  switch (order.type) {
    case 'begin':
      jobs.set(order.job, render(order.render, new ChunkRing(CHUNK_BYTES, CHUNKS, true)));
      return;
    case 'next':
      deliver({ type: 'chunk', job: order.job, chunk: jobs.get(order.job)?.next().value ?? undefined });
      return;
    case 'end':
      jobs.delete(order.job);
      return;
    case 'pack':
      packPiece(order.render, order.encoding).then(
        (packed) => deliver({ type: 'packed', job: order.job, packed }),
        (error: unknown) => fail(order.job, error),
      );
  }
}

function render(job: RenderJob, ring: ChunkRing): Generator<Uint8Array, void> {
  return renderChunksAtOnce(job.frame, runsOf(job), job.byteLength ?? measure(job), ring);
}

function measure(job: RenderJob): number {
  let items = 0;
  let bytes = 0;
  for (const run of runsOf(job)) {
    items += run.count;
    bytes += measureRun(run);
  }
  return measureFramed(job.frame, items, bytes);
}

async function packPiece(job: RenderJob, packing: Packing) {
  const byteLength = measure(job);
  const [plain = new Uint8Array()] = render({ ...job, byteLength }, new ChunkRing(byteLength, 1));
  return await pack(plain, packing);
}

function fail(job: number, error: unknown): void {
  jobs.delete(job);
  deliver({
    type: 'failed',
    job,
    message: error instanceof Error ? (error.stack ?? error.message) : String(error),
  });
}

function deliver(delivery: Delivery): void {
  parentPort?.postMessage(delivery);
}
