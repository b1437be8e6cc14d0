/** What rendering hands to the server: the bytes of one answer, and their number before the first is made. */
import type { EventPosition } from '../../dataset/query.ts';
import type { Redaction } from '../../domain/redaction.ts';
import type { Chunk } from './chunk.ts';

export type Variant = 'a' | 'b';

/**
 * What of people is replaced by pseudonyms, and the secret of the organization that these are made
 * with.
 */
export type Redacting = Redaction & { readonly secret: Uint8Array };

export interface Answer<Next = undefined> {
  /** Exact size of all chunks together, in bytes (decision 16). */
  readonly byteLength: number;
  /** Where the next page begins; absent when the answer is complete (decision 18). */
  readonly next: Next | undefined;
  /**
   * About how many bytes are in memory at a time while it is sent (decision 60); absent: all of
   * them.
   */
  readonly heldBytes?: number | undefined;
  /**
   * The bytes, in chunks of about 256 KiB, the same each time it is called. A chunk stays as it is until the second one
   * after it is asked for; then its memory is used again. Ending the iteration early frees everything. Throws when
   * the data cannot be read any further. A first chunk that has room in `memory`, an empty chunk, is written there.
   * Small answers come at once.
   */
  chunks(memory?: Chunk): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/**
 * Called when an answer turns out to be large, before it is measured, with its `heldBytes`; throws what
 * refuses it.
 */
export type Admit = (heldBytes: number) => Promise<void>;

export type EventsAnswer = Answer<EventPosition>;
export type ListAnswer = Answer<bigint>;

/** An answer whose size is known only when all of it is made. */
export interface UnsizedAnswer<Next = undefined> {
  /** Where the next page begins; absent when the answer is complete (decision 18). */
  readonly next: Next | undefined;
  /** The number of its rows is not higher. */
  readonly mostRows: number;
  /**
   * The bytes, in pieces of any size; to be called at most once. The event loop runs between them. Ending the iteration
   * early frees everything.
   */
  pieces(): AsyncIterable<Uint8Array>;
}
