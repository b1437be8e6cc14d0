/**
 * The tables of a version other than events and records, as columns, for loading a whole version
 * into memory and for gradebooks. Not scoped: do not send them as a response. Every table is read
 * in batches of rows, none too large to copy. Users and boards are identified by index.
 */
import type { Standings } from './query.ts';
import type { RecordTable } from './records.ts';

export interface Tables {
  /** Ids of records, in the order of their indices. */
  ids(of: RecordTable): AsyncIterable<BigInt64Array>;
  /** LMS properties of users, in no order (decision 11). With `of`: only these. */
  properties(of?: PropertyOfBoard): AsyncIterable<PropertyRows>;
  /**
   * Pairs of board and user, each once and in no order: users who act or own on the board, or are
   * or were on it. These are the users that `of-boards` shows (decision 12).
   */
  boardPeople(): AsyncIterable<PairRows>;
  /**
   * The users on each board, with their points totals of all time (decisions 10, 25, 26), in no
   * order.
   */
  standings(): AsyncIterable<StandingRows>;
  /**
   * The counted awards and adjustments, in no order. Points totals of a range sum up those of pairs
   * that have a points total that is not imported (decision 37).
   */
  earnings(): AsyncIterable<EarningRows>;
}

export interface PropertyRows {
  readonly user: Int32Array;
  readonly property: readonly string[];
  readonly value: readonly string[];
}

/** One property of the users on one board. */
export interface PropertyOfBoard {
  readonly property: string;
  /** Index of the board. */
  readonly board: number;
}

export interface PairRows {
  readonly board: Int32Array;
  readonly user: Int32Array;
}

export interface StandingRows extends Standings {
  /** 1 if the points total is imported. */
  readonly imported: Uint8Array;
}

export interface EarningRows extends PairRows {
  readonly timestampMs: Float64Array;
  readonly points: Float64Array;
}
