/**
 * A place for the chunks of shared versions: a folder, a table or a bucket. A chunk has at most 256
 * KiB, is written once under a name that contains its digest, and never changes. Readers compare
 * chunks with their digests, so a place need not verify them.
 */
export interface ChunkPlace {
  /** How many concurrent transfers are useful. */
  readonly parallel: number;
  /**
   * The chunk is durable when the promise is fulfilled. Storing it again under its name has no
   * effect. Throws `chunks-away` when the place cannot be reached after retries.
   */
  put(name: string, bytes: Uint8Array): Promise<void>;
  /**
   * Absent if there is no such chunk. Throws `chunks-away` if the place is unreachable after
   * retries.
   */
  get(name: string): Promise<Uint8Array | undefined>;
  /**
   * Names that begin with `prefix`, in batches of bounded size, in any order. May lack chunks that
   * were stored a moment ago, and include chunks that were deleted a moment ago. Throws
   * `chunks-away`.
   */
  list(prefix: string): AsyncIterable<readonly string[]>;
  /** Names that do not exist are ignored. Throws `chunks-away`. */
  delete(names: readonly string[]): Promise<void>;
  /**
   * Deletes what interrupted uploads have left in the folder of an organization, and the folder
   * itself if no chunk is in it. Absent: the place has neither. Throws `chunks-away`.
   */
  dropFolder?(folder: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * The form of a name: the folder of an organization, and a file name in it. Both consist of `a-z`,
 * `0-9` and `-`, so that they mean the same in every file system, table and bucket.
 */
export const CHUNK_NAME = /^[a-z0-9-]{1,64}\/[a-z0-9-]{1,96}$/;
