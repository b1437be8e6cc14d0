/** Questions to a dataset, and the columns that answer them. */
import type { Scope } from '../domain/scope.ts';
import type { UserClock } from '../domain/user-clocks.ts';
import type { Selection } from './selection.ts';

/** `[startMs, endMs)`: the start is in, the end is out (decision 5). An absent bound is open. */
export interface TimeRange {
  readonly startMs?: number | undefined;
  readonly endMs?: number | undefined;
}

/** Whether the range leaves anything out. */
export function isBounded({ startMs, endMs }: TimeRange): boolean {
  return startMs !== undefined || endMs !== undefined;
}

/** Place of an event in the order of decision 4: by timestamp, then by order of import. */
export interface EventPosition {
  readonly timestampMs: number;
  readonly sequence: number;
}

/**
 * What has changed after a moment: events with a larger sequence, and events that name one of these people (as actor or
 * owner), boards or pins, whose words are others now. Indices, in no order.
 */
export interface Revisions {
  readonly sequence: number;
  /** The clock of users that says so of the people. */
  readonly clock: UserClock;
  readonly people: Int32Array;
  readonly boards: Int32Array;
  readonly pins: Int32Array;
  /** The rows of the timeline in memory that all this means, ascending, where somebody has looked for them. */
  readonly rows?: Int32Array | undefined;
}

export interface EventQuery {
  readonly scope: Scope;
  readonly range: TimeRange;
  /** Only events of type `pin`. */
  readonly pinsOnly?: boolean;
  /** Indices of the only kinds wanted, ascending. */
  readonly kinds?: readonly number[] | undefined;
  /** Index of the only board, or of the only actor, wanted. */
  readonly board?: number;
  readonly actor?: number;
  /** Only events after this position. */
  readonly after?: EventPosition | undefined;
  /** Only events with at most this sequence: what was published when a walk through pages began (decision 18). */
  readonly upToSequence?: number | undefined;
  /** Only what has changed since (decision 19). */
  readonly since?: Revisions | undefined;
  /** At most so many events, the first ones; at least 1. */
  readonly limit?: number | undefined;
}

/** A run of events in order, as columns: row `i` of every column is event `i`. */
export interface EventBatch {
  readonly count: number;
  readonly kind: Int32Array;
  readonly actor: Int32Array;
  readonly owner: Int32Array;
  readonly board: Int32Array;
  /** -1 where the event carries no pin. */
  readonly pin: Int32Array;
  readonly timestampMs: Float64Array;
  readonly sequence: Float64Array;
}

/** How often each index occurs in a column of an answer. */
export interface Occurrences {
  readonly index: Int32Array;
  readonly count: Float64Array;
}

/** What an answer is made of, without its order: enough to know its exact size in bytes before the first one. */
export interface EventTally {
  readonly events: number;
  readonly kind: Occurrences;
  readonly actor: Occurrences;
  readonly owner: Occurrences;
  readonly board: Occurrences;
  /** Events without a pin are left out. */
  readonly pin: Occurrences;
  /** Where these events are in memory, if they had to be found: reading them need not find them again. */
  readonly selection?: Selection | undefined;
}

export type ListKind = 'boards' | 'users';

/**
 * Boards or users of the scope; the range is about when they were created, as far as the scope sees
 * (decision 35).
 */
export interface ListQuery {
  readonly scope: Scope;
  readonly range: TimeRange;
  /** Only those with a larger id. */
  readonly afterId?: bigint | undefined;
  readonly limit?: number | undefined;
}

/** The users of a version in an order of their own. */
export interface UserOrder {
  /** Indices in that order, and the place of each index in it. */
  readonly byPlace: Int32Array;
  readonly places: Int32Array;
}

/** One board, found by one of its names. */
export type BoardName =
  | { readonly by: 'id'; readonly value: bigint }
  | { readonly by: 'lti' | 'course'; readonly value: string };

/** One user, found by id or by the value of an LMS property. */
export type UserName =
  | { readonly by: 'id'; readonly value: bigint }
  | { readonly by: 'lms'; readonly property: string; readonly value: string };

export interface StandingsQuery {
  readonly scope: Scope;
  /**
   * Only awards and adjustments inside the range count, and imported figures, which carry no time,
   * where it contains every event on their board that the scope sees (decision 71).
   */
  readonly range: TimeRange;
  /** Index of the board whose users are wanted, or of the user whose boards are wanted. */
  readonly of: { readonly board: number } | { readonly user: number };
}

/**
 * Indices of a board and of a user, which `findBoard` and `findUser` have found inside the scope.
 */
export interface LedgerQuery {
  readonly scope: Scope;
  readonly board: number;
  readonly user: number;
}

/** Points of users on boards (contract 2.8), ascending by user id, then board id. */
export interface Standings {
  readonly count: number;
  readonly user: Int32Array;
  readonly board: Int32Array;
  readonly totalPoints: Float64Array;
  readonly participationScore: Float64Array;
}
