/**
 * The rows of a timeline that a query selects: plain typed arrays over shared memory, for any
 * thread.
 */

/** Rows of a timeline, in its order. A row is selected if it meets all of the conditions. */
export interface Selection {
  /** Positions `[from, to)`: of the timeline if `rows` is absent, otherwise indices of `rows`. */
  readonly from: number;
  readonly to: number;
  /**
   * Candidate rows in the order of the timeline, such as those of one board or one actor; absent:
   * all rows.
   */
  readonly rows?: Int32Array | undefined;
  /**
   * By index: 1 for visible boards, and for visible users (actor and owner); absent: all
   * (decision 12).
   */
  readonly boards?: Uint8Array | undefined;
  readonly people?: Uint8Array | undefined;
  /** Only events with a pin. */
  readonly pinsOnly?: boolean | undefined;
  /** By index: 1 for the requested kinds; absent: all. */
  readonly kinds?: Uint8Array | undefined;
  /** Only events with at most this sequence. */
  readonly upToSequence?: number | undefined;
  /** Only events of this change set. */
  readonly since?: ChangedRows | undefined;
  /**
   * The positions that were found before; if present, only these and `rows` are read, and no other
   * condition is checked.
   */
  readonly found?: FoundPositions | undefined;
}

/**
 * One bit per position from `first` on, so that the events of a large response are searched only
 * once.
 */
export interface FoundPositions {
  readonly first: number;
  readonly bits: Uint8Array;
}

/** `Revisions` as flags by index: 1 for each index that it lists. */
export interface ChangedRows {
  readonly sequence: number;
  readonly people: Uint8Array;
  readonly boards: Uint8Array;
  readonly pins: Uint8Array;
}
