/**
 * What a version has that an earlier one had not, for a server that has the earlier one in memory.
 */
import type { EventBatch } from './query.ts';
import type { RecordColumns, RecordTable } from './records.ts';
import type { EarningRows, PairRows } from './tables.ts';

export interface ChangedRecords<T extends RecordTable> {
  /** Indices of new and changed records, ascending. New ones have the next free indices. */
  readonly indices: Int32Array;
  /** The records in the same order. */
  readonly records: RecordColumns<T>;
}

/** From which earlier version in memory a version was made. */
export interface Origin {
  readonly version: string;
  /** Indices of the records that are new or have changed since, ascending. */
  readonly records: { readonly [T in RecordTable]: Int32Array };
}

/** Nothing has been deleted. */
export interface DatasetChanges {
  /** New events, in the order of the timeline. */
  readonly events: EventBatch;
  readonly records: { readonly [T in RecordTable]: ChangedRecords<T> };
  /** Whether users or their LMS properties are new or have changed. */
  readonly hasUsers: boolean;
  readonly pairs: ChangedPairs;
}

/**
 * Users on boards who may have come to the board, or whose points total or awards may have changed:
 * each pair once, by board.
 */
export interface ChangedPairs extends PairRows {
  /** 1 if the user is one of the board (`Tables.boardPeople`). */
  readonly onBoard: Uint8Array;
  /** 1 if there is a points total; the next three columns describe it. */
  readonly hasTotal: Uint8Array;
  readonly totalPoints: Float64Array;
  readonly participationScore: Float64Array;
  /** 1 if the points total is imported. */
  readonly imported: Uint8Array;
  /** All counted awards and adjustments of these pairs, in batches and in no order. */
  readonly earnings: readonly EarningRows[];
}
