/** What a render thread is asked for: rows of a timeline and all that makes them bytes, in memory that threads share. */
import type { EventBatch } from '../dataset/query.ts';
import { readSelection, type Selection } from '../dataset/timeline.ts';
import { EventParts, type SharedEventParts } from './event-run.ts';
import type { Frame, Run } from './frame.ts';

export interface RenderJob {
  readonly parts: SharedEventParts;
  readonly columns: EventBatch;
  readonly selection: Selection;
  readonly frame: Frame;
  /** Exact size of all chunks together; absent: to be measured. */
  readonly byteLength?: number;
}

/** What a render thread can be told. `job` names a job that was begun; an answer carries the same number. */
export type Order =
  | { readonly type: 'begin'; readonly job: number; readonly render: RenderJob }
  | { readonly type: 'next'; readonly job: number }
  | { readonly type: 'end'; readonly job: number }
  | { readonly type: 'pack'; readonly job: number; readonly render: RenderJob; readonly encoding: Packing };

export type Packing = 'gzip' | 'zstd';

/** A piece of an answer, compressed so that pieces can be joined (see `packing.ts`). */
export interface Packed {
  readonly bytes: Uint8Array;
  /** Of the plain bytes: their number, and their checksum (CRC-32, as gzip wants it). */
  readonly plainBytes: number;
  readonly crc: number;
}

export type Delivery =
  /** No chunk: the job is at its end. */
  | { readonly type: 'chunk'; readonly job: number; readonly chunk: Uint8Array | undefined }
  | { readonly type: 'packed'; readonly job: number; readonly packed: Packed }
  | { readonly type: 'failed'; readonly job: number; readonly message: string };

/** The rows of a job as runs to be written. */
export function* runsOf({ parts, columns, selection }: RenderJob): Generator<Run, void> {
  const events = new EventParts(parts);
  for (const batch of readSelection(columns, selection)) yield events.run(batch);
}
