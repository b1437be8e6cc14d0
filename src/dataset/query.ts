/** Queries to a dataset, and the columns that they return. */
import type { Scope } from '../domain/scope.ts';
import type { UserClock } from '../domain/user-clocks.ts';
import type { Selection } from './selection.ts';

/**
 * `[startMs, endMs)`: the start is included, the end is not (decision 5). An absent bound is open.
 */
export interface TimeRange {
  readonly startMs?: number | undefined;
  readonly endMs?: number | undefined;
}

/** Whether the range has a start or an end. */
export function isBounded({ startMs, endMs }: TimeRange): boolean {
  return startMs !== undefined || endMs !== undefined;
}

/** Whether nothing is inside the range, because it ends where it starts (decision 5). */
export function isEmptyRange({ startMs, endMs }: TimeRange): boolean {
  return startMs !== undefined && startMs === endMs;
}

/** Position of an event in the order of decision 4: by timestamp, then by import order. */
export interface EventPosition {
  readonly timestampMs: number;
  readonly sequence: number;
}

/**
 * A change set: events with a larger sequence, and events that refer to one of these users (as
 * actor or owner), boards or pins, whose visible fields have changed. Indices, in no order.
 */
export interface Revisions {
  readonly sequence: number;
  /** The user clock by which `people` was determined. */
  readonly clock: UserClock;
  readonly people: Int32Array;
  readonly boards: Int32Array;
  readonly pins: Int32Array;
  /**
   * The rows of these events in the timeline in memory, ascending; absent if they have not been
   * searched for, or are too many to list.
   */
  readonly rows?: Int32Array | undefined;
}

export interface EventQuery {
  readonly scope: Scope;
  readonly range: TimeRange;
  /** Only events of type `pin`. */
  readonly pinsOnly?: boolean;
  /** Only events of these kinds; indices, ascending. */
  readonly kinds?: readonly number[] | undefined;
  /** Only events on this board, or of this actor; indices. */
  readonly board?: number;
  readonly actor?: number;
  /** Only events after this position. */
  readonly after?: EventPosition | undefined;
  /**
   * Only events with at most this sequence: those that were published when the client requested the
   * first page (decision 18).
   */
  readonly upToSequence?: number | undefined;
  /** Only events of this change set (decision 19). */
  readonly since?: Revisions | undefined;
  /** The maximum number of events; the first ones are returned. At least 1. */
  readonly limit?: number | undefined;
}

/** Consecutive events of a result, as columns: row `i` of every column is event `i`. */
export interface EventBatch {
  readonly count: number;
  readonly kind: Int32Array;
  readonly actor: Int32Array;
  readonly owner: Int32Array;
  readonly board: Int32Array;
  /** -1 if the event has no pin. */
  readonly pin: Int32Array;
  readonly timestampMs: Float64Array;
  readonly sequence: Float64Array;
}

/** How often each index occurs in a column of a result. */
export interface Occurrences {
  readonly index: Int32Array;
  readonly count: Float64Array;
}

/**
 * The content of a result without its order: enough to know the exact size of the response in bytes
 * before the first byte.
 */
export interface EventTally {
  readonly events: number;
  readonly kind: Occurrences;
  readonly actor: Occurrences;
  readonly owner: Occurrences;
  readonly board: Occurrences;
  /** Events without a pin are not counted. */
  readonly pin: Occurrences;
  /**
   * The rows of these events in memory, if they had to be searched for: reading them need not
   * search again.
   */
  readonly selection?: Selection | undefined;
}

export type ListKind = 'boards' | 'users';

/**
 * Boards or users of the scope. The range applies to their creation as visible in the scope
 * (decision 35).
 */
export interface ListQuery {
  readonly scope: Scope;
  readonly range: TimeRange;
  /** Only records with a larger id. */
  readonly afterId?: bigint | undefined;
  readonly limit?: number | undefined;
}

/** The users of a version in a custom order. */
export interface UserOrder {
  /** Indices in that order, and the position of each index in it. */
  readonly byPlace: Int32Array;
  readonly places: Int32Array;
}

/** One board, identified by id, LTI id or course id. */
export type BoardName =
  | { readonly by: 'id'; readonly value: bigint }
  | { readonly by: 'lti' | 'course'; readonly value: string };

/** One user, identified by id or by the value of an LMS property. */
export type UserName =
  | { readonly by: 'id'; readonly value: bigint }
  | { readonly by: 'lms'; readonly property: string; readonly value: string };

export interface StandingsQuery {
  readonly scope: Scope;
  /**
   * Only awards and adjustments inside the range count. Imported points totals have no time. They
   * count if the range contains every event on their board that is inside the scope (decision 71).
   */
  readonly range: TimeRange;
  /** Index of the board whose users are requested, or of the user whose boards are requested. */
  readonly of: { readonly board: number } | { readonly user: number };
}

/** Position of a points total in a table of them: by board id, then user id. */
export interface PointsPosition {
  readonly boardId: bigint;
  readonly userId: bigint;
}

/** The place after a position, or before all users of a board. */
export type PointsStart = Pick<PointsPosition, 'boardId'> & {
  readonly userId?: bigint | undefined;
};

/** Points totals of all boards and users inside the scope, or of one board, one user, or both. */
export interface PointsQuery extends Pick<StandingsQuery, 'scope' | 'range'> {
  /** Indices that `findBoard` and `findUser` have found inside the scope. */
  readonly board?: number | undefined;
  readonly user?: number | undefined;
  /** Only points totals after this place. */
  readonly after?: PointsStart | undefined;
  /** The maximum number of points totals; the first ones are returned. At least 1. */
  readonly limit?: number | undefined;
}

/** `board` and `user` are indices that `findBoard` and `findUser` have found inside the scope. */
export interface LedgerQuery {
  readonly scope: Scope;
  readonly board: number;
  readonly user: number;
}

/** Points totals of users on boards (contract 2.8), as columns. */
export interface Standings {
  readonly count: number;
  readonly user: Int32Array;
  readonly board: Int32Array;
  readonly totalPoints: Float64Array;
  readonly participationScore: Float64Array;
}
