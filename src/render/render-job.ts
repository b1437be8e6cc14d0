/** What a render thread is asked for: rows of a timeline and all that makes them bytes, in memory that threads share. */
import type { EventRows } from '../dataset/event-rows.ts';
import { readSelection, type Selection } from '../dataset/timeline.ts';
import type { EventParts, SharedEventParts } from './event-run.ts';
import type { Frame, Run } from './frame.ts';

/** Long enough that what is said between threads costs nothing beside it, and short enough for a core's cache. */
export const CHUNK_BYTES = 1024 * 1024;
/** One leaves, one is ready, one is filled. */
export const CHUNKS = 3;
/** Memory that a job takes. */
export const RING_BYTES = CHUNKS * CHUNK_BYTES;

/** Rows to be rendered, however many bytes they take. */
export interface PieceJob {
  readonly parts: SharedEventParts;
  readonly events: EventRows;
  readonly selection: Selection;
  readonly frame: Frame;
}

export interface RenderJob extends PieceJob {
  /** Exact size of all chunks together. */
  readonly byteLength: number;
}

/** What a render thread can be told. `job` names a job that was begun; an answer carries the same number. */
export type Order =
  | { readonly type: 'begin'; readonly job: number; readonly render: RenderJob }
  | { readonly type: 'next'; readonly job: number }
  | { readonly type: 'end'; readonly job: number }
  | { readonly type: 'collect' }
  | {
      readonly type: 'pack';
      readonly job: number;
      readonly render: PieceJob;
      readonly packing: Packing;
      /** Where the bytes go when they fit. */
      readonly memory: SharedArrayBuffer;
    };

/** `identity`: pieces of the plain bytes. */
export type Packing = 'identity' | 'gzip' | 'zstd';

/** A piece of an answer, compressed or not, so that pieces can be joined (see `packing.ts`). */
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

/** The rows of a job as runs to be written, each before the next is asked for; `parts` are those of the job. */
export function* runsOf({ events, selection }: PieceJob, parts: EventParts): Generator<Run, void> {
  for (const batch of readSelection(events, selection, { reused: true })) yield parts.run(batch);
}
