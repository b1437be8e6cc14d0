/** What a render thread is asked for: rows of a timeline and all that makes them bytes, in memory that threads share. */
import type { EventRows } from '../../dataset/event-rows.ts';
import type { Selection } from '../../dataset/selection.ts';
import { readSelection } from '../../dataset/timeline.ts';
import type { EventParts, SharedEventParts } from '../fragments/event-run.ts';
import type { Frame, Run } from '../text/frame.ts';
import type { ParquetRows, ParquetTable } from './parquet-file.ts';

/** Long enough that what is said between threads costs nothing beside it, and short enough for a core's cache. */
export const CHUNK_BYTES = 1024 * 1024;
/** One leaves, one is ready, one is filled. */
export const CHUNKS = 3;
/** Memory that a job takes. */
export const RING_BYTES = CHUNKS * CHUNK_BYTES;

export interface RenderJob {
  readonly parts: SharedEventParts;
  readonly events: EventRows;
  readonly selection: Selection;
  readonly frame: Frame;
  /** Exact size of all chunks together. */
  readonly byteLength: number;
}

/** What a render thread can be told. `job` names a job that was begun; an answer carries the same number. */
export type ThreadOrder =
  | { readonly type: 'begin'; readonly job: number; readonly render: RenderJob }
  | { readonly type: 'next'; readonly job: number }
  | { readonly type: 'end'; readonly job: number }
  | { readonly type: 'collect' }
  /** Begins a Parquet file, adds rows to it, or ends it. */
  | { readonly type: 'table'; readonly job: number; readonly table: ParquetTable }
  | { readonly type: 'rows'; readonly job: number; readonly rows: ParquetRows | undefined };

export type Delivery =
  /** No chunk: the job is at its end. */
  | { readonly type: 'chunk'; readonly job: number; readonly chunk: Uint8Array | undefined }
  /** What follows from the rows. */
  | { readonly type: 'written'; readonly job: number; readonly bytes: Uint8Array }
  | { readonly type: 'failed'; readonly job: number; readonly message: string };

/** The rows of a job as runs to be written, each before the next is asked for; `parts` are those of the job. */
export function* runsOf({ events, selection }: RenderJob, parts: EventParts): Generator<Run, void> {
  for (const batch of readSelection(events, selection, { reused: true })) yield parts.run(batch);
}
