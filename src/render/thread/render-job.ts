/**
 * Jobs of a render thread: rows of a timeline and everything needed to render them, in shared
 * memory.
 */
import type { EventRows } from '../../dataset/event-rows.ts';
import type { Selection } from '../../dataset/selection.ts';
import { readSelection } from '../../dataset/timeline.ts';
import type { EventParts, SharedEventParts } from '../fragments/event-writer.ts';
import type { Frame, RowWriter } from '../text/frame.ts';
import type { ParquetRows, ParquetTable } from './parquet-file.ts';

/**
 * Large enough that messages between threads cost nothing in comparison, and small enough for the
 * cache of a core.
 */
export const CHUNK_BYTES = 1024 * 1024;
/** One is being sent, one is ready, one is being filled. */
export const CHUNKS = 3;
/** Memory that a job uses, in bytes. */
export const RING_BYTES = CHUNKS * CHUNK_BYTES;

export interface RenderJob {
  readonly parts: SharedEventParts;
  readonly events: EventRows;
  readonly selection: Selection;
  readonly frame: Frame;
  /** Exact size of all chunks together, in bytes. */
  readonly byteLength: number;
}

/** Messages to a render thread. `job` identifies the job; the reply has the same number. */
export type ThreadOrder =
  | { readonly type: 'begin'; readonly job: number; readonly render: RenderJob }
  | { readonly type: 'next'; readonly job: number }
  | { readonly type: 'end'; readonly job: number }
  | { readonly type: 'collect' }
  /** Compresses bytes in shared memory; the job has no other message. */
  | { readonly type: 'deflate'; readonly job: number; readonly block: Uint8Array }
  /** Begins a Parquet file, adds rows to it, or ends it. */
  | { readonly type: 'table'; readonly job: number; readonly table: ParquetTable }
  | { readonly type: 'rows'; readonly job: number; readonly rows: ParquetRows | undefined };

export type Delivery =
  /** Without a chunk: the job has ended. */
  | { readonly type: 'chunk'; readonly job: number; readonly chunk: Uint8Array | undefined }
  /** The bytes that the rows have produced, or the compressed block. */
  | { readonly type: 'written'; readonly job: number; readonly bytes: Uint8Array };

/**
 * The rows of a job as runs. Write each one before requesting the next. `parts` are those of the
 * job.
 */
export function* runsOf({ events, selection }: RenderJob, parts: EventParts): Generator<RowWriter, void> {
  for (const batch of readSelection(events, selection, { reused: true })) yield parts.run(batch);
}
