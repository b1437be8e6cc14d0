/**
 * What a version has that an earlier one had not, for a server that has the earlier one in memory.
 */
import type { EventBatch } from './query.ts';
import type { RecordColumns, RecordTable } from './records.ts';
import type { Tables } from './tables.ts';

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
  /** Boards on which users, points totals or awards are new or have changed, ascending. */
  readonly boards: Int32Array;
  /** All rows of these boards. */
  readonly ofBoards: Pick<Tables, 'boardPeople' | 'standings' | 'earnings'>;
}
