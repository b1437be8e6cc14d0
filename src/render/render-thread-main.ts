/** Inside a render thread: fills chunks and compresses pieces, each when it is asked for, jobs in turn. */
import { parentPort } from 'node:worker_threads';
import { Chunk, memoryOf } from './chunk.ts';
import { EventParts, type SharedEventParts } from './event-run.ts';
import { ChunkRing, measureFramed, measureRun, renderChunksAtOnce } from './frame.ts';
import { collectGarbage, release } from './garbage.ts';
import { pack } from './packing.ts';
import {
  CHUNK_BYTES,
  CHUNKS,
  type Delivery,
  type Order,
  type Packed,
  type PieceJob,
  type RenderJob,
  runsOf,
} from './render-job.ts';

/** Those of the job before, since most pieces are of the same export. */
let latest: EventParts | undefined;

const jobs = new Map<number, Generator<Uint8Array, void>>();

parentPort?.on('message', (order: Order) => {
  try {
    obey(order);
  } catch (error) {
    if (order.type === 'collect') throw error;
    fail(order.job, error);
  }
});

function obey(order: Order): void {
  switch (order.type) {
    case 'begin':
      jobs.set(order.job, begin(order.render, new ChunkRing(CHUNK_BYTES, CHUNKS, true)));
      return;
    case 'next':
      deliver({ type: 'chunk', job: order.job, chunk: jobs.get(order.job)?.next().value ?? undefined });
      return;
    case 'end':
      jobs.delete(order.job);
      return;
    case 'collect':
      latest = undefined;
      collectGarbage();
      return;
    case 'pack':
      packPiece(order).then(
        (packed) => deliver({ type: 'packed', job: order.job, packed }),
        (error: unknown) => fail(order.job, error),
      );
  }
}

function begin(job: RenderJob, ring: ChunkRing): Generator<Uint8Array, void> {
  return renderChunksAtOnce(job.frame, runsOf(job, partsOf(job.parts)), job.byteLength, ring);
}

function partsOf(shared: SharedEventParts): EventParts {
  if (latest?.shared.id !== shared.id) latest = new EventParts(shared);
  return latest;
}

/** Exact bytes of a piece. */
function measure(job: PieceJob, parts: EventParts): number {
  let items = 0;
  let bytes = 0;
  for (const run of runsOf(job, parts)) {
    items += run.count;
    bytes += measureRun(run);
  }
  return measureFramed(job.frame, items, bytes);
}

/** Memory of plain pieces that have been compressed, for the next ones. */
const spare: ChunkRing[] = [];
const MOST_SPARE = 8;

async function packPiece({
  render: job,
  packing,
  memory,
}: Extract<Order, { type: 'pack' }>): Promise<Packed> {
  const parts = partsOf(job.parts);
  const byteLength = measure(job, parts);
  if (packing === 'identity') {
    const chunk = new Chunk(byteLength, writable(memory, memoryOf(byteLength)));
    return await pack(renderWhole(job, parts, byteLength, chunk), packing);
  }
  const ring = spare.pop() ?? new ChunkRing(byteLength, 1);
  const packed = await pack(renderWhole(job, parts, byteLength, ring.next(byteLength)), packing);
  if (spare.length < MOST_SPARE) spare.push(ring);
  const { length } = packed.bytes;
  const bytes = new Uint8Array(writable(memory, length), 0, length);
  bytes.set(packed.bytes);
  release(packed.bytes);
  return { ...packed, bytes };
}

/** The memory, or larger one: by a quarter more than needed, because the next piece is about as long. */
function writable(memory: SharedArrayBuffer, size: number): SharedArrayBuffer {
  return memory.byteLength >= size ? memory : new SharedArrayBuffer(size + (size >> 2));
}

/** All of a job in one chunk that is as long. */
function renderWhole(job: PieceJob, parts: EventParts, byteLength: number, chunk: Chunk): Uint8Array {
  const chunks = { chunkBytes: byteLength, next: () => chunk };
  const [whole = new Uint8Array()] = renderChunksAtOnce(job.frame, runsOf(job, parts), byteLength, chunks);
  return whole;
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
