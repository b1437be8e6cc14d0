/**
 * From items to the chunks of an answer: what stands before, between and after the items, the exact size of it all,
 * and buffers of about 256 KiB.
 */
import { setImmediate } from 'node:timers/promises';
import type { Representation } from './answer.ts';
import { Chunk } from './chunk.ts';

const CHUNK_BYTES = 256 * 1024;

/** ASCII texts around the items of an answer. */
export interface Frame {
  readonly beforeFirst: string;
  readonly beforeOthers: string;
  readonly afterEach: string;
  readonly afterLast: string;
  /** The whole answer when there are no items. */
  readonly empty: string;
}

export const JSON_OBJECT: Frame = {
  beforeFirst: '{',
  beforeOthers: ',',
  afterEach: '',
  afterLast: '}',
  empty: '{}',
};

/** The frame of a list of items; `columns` are the names in the first line of CSV. */
export function listFrame(representation: Representation, columns: string): Frame {
  const none = { beforeFirst: '', beforeOthers: '', afterEach: '', afterLast: '', empty: '' };
  switch (representation) {
    case 'json':
      return { ...none, beforeFirst: '[', beforeOthers: ',', afterLast: ']', empty: '[]' };
    case 'ndjson':
      return { ...none, afterEach: '\n' };
    case 'csv':
      return { ...none, beforeFirst: `${columns}\r\n`, afterEach: '\r\n', empty: `${columns}\r\n` };
  }
}

/** A run of items that can be measured and written one by one, by row from 0. */
export interface Run {
  readonly count: number;
  /** No item takes more bytes; absent when that is not known. */
  readonly largest?: number;
  /** Exact bytes of an item. */
  size(row: number): number;
  write(row: number, chunk: Chunk): void;
}

/** Bytes of the items of a run, without a frame. */
export function measureRun(run: Run): number {
  let bytes = 0;
  for (let row = 0; row < run.count; row++) bytes += run.size(row);
  return bytes;
}

/** Bytes of a whole answer of so many items that take so many bytes by themselves. */
export function measureFramed(frame: Frame, items: number, itemBytes: number): number {
  if (items === 0) return frame.empty.length;
  return (
    frame.beforeFirst.length +
    frame.beforeOthers.length * (items - 1) +
    frame.afterEach.length * items +
    frame.afterLast.length +
    itemBytes
  );
}

/**
 * The bytes of an answer. The event loop runs between two chunks, so that others are served meanwhile. Throws
 * when the bytes are not as many as were announced (decision 16), never after more than these have gone out.
 */
export async function* renderChunks(
  frame: Frame,
  runs: AsyncIterable<Run> | Iterable<Run>,
  byteLength: number,
): AsyncGenerator<Uint8Array, void> {
  let left = byteLength;
  let chunk = new Chunk(Math.min(CHUNK_BYTES, left));
  // Two buffers take turns: a gigabyte in fresh ones would keep the garbage collector as busy as the copying.
  let spare: Chunk | undefined;
  let items = 0;
  for await (const run of runs) {
    const { largest = Number.POSITIVE_INFINITY } = run;
    for (let row = 0; row < run.count; row++) {
      const before = items === 0 ? frame.beforeFirst : frame.beforeOthers;
      const around = before.length + frame.afterEach.length;
      // The exact size is looked up only where it can matter.
      const size = chunk.fits(around + largest) ? 0 : around + run.size(row);
      if (!chunk.fits(size)) {
        left -= chunk.length;
        if (size > left) throw new Error(`An answer was to take ${byteLength} bytes and takes more.`);
        if (chunk.length > 0) {
          yield chunk.take();
          await setImmediate();
        }
        const next = spare?.holds(size) ? spare : new Chunk(Math.max(size, Math.min(CHUNK_BYTES, left)));
        spare = chunk;
        chunk = next.clear();
      }
      chunk.appendAscii(before);
      run.write(row, chunk);
      chunk.appendAscii(frame.afterEach);
      items += 1;
    }
  }
  const end = items === 0 ? frame.empty : frame.afterLast;
  if (!chunk.fits(end.length)) {
    left -= chunk.length;
    yield chunk.take();
    chunk = new Chunk(end.length);
  }
  chunk.appendAscii(end);
  if (chunk.length !== left) {
    throw new Error(
      `An answer was to take ${byteLength} bytes and takes ${byteLength - left + chunk.length}.`,
    );
  }
  if (chunk.length > 0) yield chunk.take();
}
