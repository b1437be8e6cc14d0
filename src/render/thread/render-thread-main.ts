/**
 * The code of a render thread: fills chunks and writes Parquet files on request, for several jobs
 * in turn.
 */
import { parentPort } from 'node:worker_threads';
import { collectGarbage } from '../../system/memory-reclaimer.ts';
import { failureOf } from '../../system/worker-thread.ts';
import { EventParts, type SharedEventParts } from '../fragments/event-writer.ts';
import { ChunkRing, renderChunksAtOnce } from '../text/frame.ts';
import { deflateBlock } from './deflate-block.ts';
import { ParquetFile, type ParquetRows } from './parquet-file.ts';
import {
  CHUNK_BYTES,
  CHUNKS,
  type Delivery,
  type RenderJob,
  runsOf,
  type ThreadOrder,
} from './render-job.ts';

/** The parts of the previous job, because most jobs are of the same dataset. */
let latest: EventParts | undefined;

const jobs = new Map<number, Generator<Uint8Array, void>>();
const files = new Map<number, ParquetFile>();

parentPort?.on('message', (order: ThreadOrder) => {
  try {
    obey(order);
  } catch (error) {
    if (order.type === 'collect') throw error;
    fail(order.job, error);
  }
});

function obey(order: ThreadOrder): void {
  switch (order.type) {
    case 'begin':
      jobs.set(order.job, begin(order.render, new ChunkRing(CHUNK_BYTES, CHUNKS, true)));
      return;
    case 'next':
      deliver({ type: 'chunk', job: order.job, chunk: jobs.get(order.job)?.next().value ?? undefined });
      return;
    case 'end':
      jobs.delete(order.job);
      files.delete(order.job);
      return;
    case 'table':
      files.set(order.job, new ParquetFile(order.table));
      return;
    case 'rows':
      writeRows(order.job, order.rows);
      return;
    case 'deflate':
      deflateBlock(order.block)
        .then((bytes) => deliverBytes(order.job, bytes))
        .catch((error: unknown) => fail(order.job, error));
      return;
    case 'collect':
      latest = undefined;
      collectGarbage();
  }
}

function begin(job: RenderJob, ring: ChunkRing): Generator<Uint8Array, void> {
  return renderChunksAtOnce(job.frame, runsOf(job, partsOf(job.parts)), job.byteLength, ring);
}

function writeRows(job: number, rows: ParquetRows | undefined): void {
  const file = files.get(job);
  // An earlier message about this file has failed.
  if (file === undefined) throw new Error('There is no such file.');
  if (rows === undefined) file.end();
  else file.add(rows);
  deliverBytes(job, file.take());
}

function partsOf(shared: SharedEventParts): EventParts {
  if (latest?.shared.id !== shared.id) latest = new EventParts(shared);
  return latest;
}

function fail(job: number, error: unknown): void {
  jobs.delete(job);
  files.delete(job);
  parentPort?.postMessage(failureOf(job, error));
}

function deliver(delivery: Delivery): void {
  parentPort?.postMessage(delivery);
}

/** Their memory is passed on. */
function deliverBytes(job: number, bytes: Uint8Array<ArrayBuffer>): void {
  parentPort?.postMessage({ type: 'written', job, bytes } satisfies Delivery, [bytes.buffer]);
}
