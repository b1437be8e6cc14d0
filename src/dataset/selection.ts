/** Which rows of a timeline answer a question: plain typed arrays over shared memory, for any thread. */

/** Rows of a timeline, in its order. */
export interface Selection {
  /** Positions `[from, to)`: rows themselves, or places in `rows`. */
  readonly from: number;
  readonly to: number;
  /** Rows in ascending order, those of one board or one actor; absent: a position is a row. */
  readonly rows?: Int32Array | undefined;
  /** By index, 1 for the boards and the people (actor and owner) that may be seen; absent: all (decision 12). */
  readonly boards?: Uint8Array | undefined;
  readonly people?: Uint8Array | undefined;
  /** Only events with a pin. */
  readonly pinsOnly?: boolean | undefined;
  /** By index, 1 for the kinds that are wanted; absent: all. */
  readonly kinds?: Uint8Array | undefined;
  /** Only events with at most this sequence. */
  readonly upToSequence?: number | undefined;
  /** Only what has changed since. */
  readonly since?: ChangedRows | undefined;
  /** What was found to be part of it before: then nothing of the above is looked at but `rows`. */
  readonly found?: FoundPositions | undefined;
}

/** One bit for each position from `first` on, so that the events of a large answer are found once. */
export interface FoundPositions {
  readonly first: number;
  readonly bits: Uint8Array;
}

/** `Revisions`, with 1 for what is named by index. */
export interface ChangedRows {
  readonly sequence: number;
  readonly people: Uint8Array;
  readonly boards: Uint8Array;
  readonly pins: Uint8Array;
}
