/**
 * What a version holds beside its events and records, as columns, for whoever keeps a whole version in memory. Not scoped: no
 * answer by itself. Every table comes in runs of rows, none too large to copy; users and boards are known by index.
 */
import type { Standings } from './query.ts';
import type { RecordTable } from './records.ts';

export interface Tables {
  /** Of records, in the order of their indices. */
  ids(of: RecordTable): AsyncIterable<BigInt64Array>;
  /** LMS properties of users, in no order (decision 11). */
  properties(): AsyncIterable<PropertyRows>;
  /** Everybody who acts or owns on a board, is or was on it, once and in no order: who is `of-boards` (decision 12). */
  boardPeople(): AsyncIterable<PairRows>;
  /** Who is on which board, with the figures of all time (decisions 10, 25, 26), in no order. */
  standings(): AsyncIterable<StandingRows>;
  /**
   * What standings in a range add up (decision 37): awards that counted and adjustments, of pairs that have a standing
   * and no imported figures, in no order.
   */
  earnings(): AsyncIterable<EarningRows>;
}

export interface PropertyRows {
  readonly user: Int32Array;
  readonly property: readonly string[];
  readonly value: readonly string[];
}

export interface PairRows {
  readonly board: Int32Array;
  readonly user: Int32Array;
}

export interface StandingRows extends Standings {
  /** 1 where the figures are imported ones. */
  readonly imported: Uint8Array;
}

export interface EarningRows extends PairRows {
  readonly timestampMs: Float64Array;
  readonly points: Float64Array;
}
