/**
 * Where the chunks of shared versions lie: a folder, a table or a bucket. A chunk is at most
 * 256 KiB, is written once under a name that contains its digest, and never changes. Readers
 * compare what they get with the digest, so a place need not check what it stores.
 */
export interface ChunkPlace {
  /** How many transfers at the same time are useful. */
  readonly parallel: number;
  /**
   * The chunk is durable when the promise is fulfilled. Storing it again under its name is
   * harmless. Throws `chunks-away` when the place cannot be reached, after retries.
   */
  put(name: string, bytes: Uint8Array): Promise<void>;
  /**
   * Absent when there is no such chunk. Throws `chunks-away` when the place cannot be reached,
   * after retries.
   */
  get(name: string): Promise<Uint8Array | undefined>;
  /**
   * Names that begin with `prefix`, in bounded batches, in any order. Can lack chunks that were
   * stored a moment ago, and contain some that were deleted a moment ago. Throws `chunks-away`.
   */
  list(prefix: string): AsyncIterable<readonly string[]>;
  /** Names that do not exist are ignored. Throws `chunks-away`. */
  delete(names: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/**
 * The form of a name: the folder of an organization, and inside it a file name. Both are words of
 * `a-z`, `0-9` and `-`, so that they mean the same in every file system, table and bucket.
 */
export const CHUNK_NAME = /^[a-z0-9-]{1,64}\/[a-z0-9-]{1,96}$/;
