/**
 * The result of rendering: the body of one response, with its size known before the first byte is
 * made.
 */
import type { EventPosition, PointsPosition } from '../../dataset/query.ts';
import type { Redaction } from '../../domain/redaction.ts';
import type { Chunk } from './chunk.ts';

export type Variant = 'a' | 'b';

/**
 * The user fields that are replaced by pseudonyms, and the secret of the organization from which
 * the pseudonyms are made.
 */
export type Redacting = Redaction & { readonly secret: Uint8Array };

export interface RenderedBody<Next = undefined> {
  /** Exact size of all chunks together, in bytes (decision 16). */
  readonly byteLength: number;
  /**
   * The position after which the next page starts; absent if the response is complete
   * (decision 18).
   */
  readonly next: Next | undefined;
  /** Number of events, records or changes; absent if the body is no sequence of these. */
  readonly rows?: number | undefined;
  /**
   * Approximate number of bytes in memory at a time while the response is sent (decision 60);
   * absent: all of them.
   */
  readonly heldBytes?: number | undefined;
  /**
   * The bytes, in chunks of about 256 KiB, or about 1 MiB from a render thread; the same bytes on
   * every call. A chunk is valid until the second one after it is requested; then its memory is
   * reused. Ending the iteration early frees everything. Throws if the data can no longer be read.
   * `memory` is an empty chunk; the first chunk is written to it if there is room. Small responses
   * are returned synchronously.
   */
  chunks(memory?: Chunk): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/**
 * Called when a response turns out to be large, before it is measured, with its `heldBytes`. Throws
 * to refuse the response.
 */
export type Admit = (heldBytes: number) => Promise<void>;

export type EventsBody = RenderedBody<EventPosition>;
export type ListBody = RenderedBody<bigint>;
export type PointsBody = RenderedBody<PointsPosition>;

/** A response whose size is known only after all of it has been rendered. */
export interface UnsizedBody<Next = undefined> {
  /**
   * The position after which the next page starts; absent if the response is complete
   * (decision 18).
   */
  readonly next: Next | undefined;
  /** An upper bound of the number of rows. */
  readonly mostRows: number;
  /** Their number; absent if it is not known before they are read. */
  readonly rows?: number | undefined;
  /**
   * The bytes, in buffers of any size; call it at most once. The event loop runs between them.
   * Ending the iteration early frees everything.
   */
  pieces(): AsyncIterable<Uint8Array>;
}
