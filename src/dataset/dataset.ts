/**
 * The port of the reading side: one immutable version of one organization's data. Whatever is asked of a dataset
 * is answered from that version, however long the answer takes and whatever is published meanwhile.
 */

import type { Scope } from '../domain/scope.ts';
import type { Unseen } from '../domain/user-clocks.ts';
import type {
  BoardName,
  EventBatch,
  EventQuery,
  EventTally,
  LedgerQuery,
  ListKind,
  ListQuery,
  Revisions,
  Standings,
  StandingsQuery,
  UserName,
  UserOrder,
} from './query.ts';
import type { EventKind, Organization, RecordColumns, RecordTable } from './records.ts';
import type { Tables } from './tables.ts';
import type { Timeline } from './timeline.ts';

export interface Dataset {
  /** Unique to this publication, in all organizations and for ever. Never shown to a client as it is. */
  readonly version: string;
  readonly organization: Organization;
  readonly lookups: Lookups;
  readonly userPointsKey: UserPointsKey;
  /** The points policy in force, as text for `points/policy`. */
  readonly policy: string;
  readonly counts: Counts;
  /**
   * The clock of the organization: no event of this version has a larger sequence, and every event of a later version
   * that is new in it has. It goes on with every publication.
   */
  readonly lastSequence: number;
  /** Every kind of event, by index. */
  readonly kinds: readonly EventKind[];

  /**
   * Evaluates a scope in slices of time, for the queries that follow; absent when that is done or
   * not needed. Without it, the first query with the scope evaluates it without a pause.
   */
  prepare?(scope: Scope): Promise<void> | undefined;

  /** Every user, board or pin in the order of their indices, in runs. Not scoped: no response by itself. */
  records<T extends RecordTable>(of: T): AsyncIterable<RecordColumns<T>>;

  /** What else the version holds, as columns, for whoever keeps all of it in memory. Not scoped, either. */
  tables(): Tables;

  /**
   * What has changed since `lastSequence` was this, for a reader who does not see all of people;
   * absent: who sees all. Not scoped: events of it are asked for with a scope.
   */
  revisions(sequence: number, unseen?: Unseen): Promise<Revisions>;
  /** Ids of people inside the scope who were forgotten since, ascending (decision 54). */
  forgotten(scope: Scope, sequence: number): Promise<readonly bigint[]>;

  /** Events inside the scope, oldest first, ties by order of import (decision 4). Bounded batches, none empty. */
  events(query: EventQuery): AsyncIterable<EventBatch>;
  /** What `events` of the same query would deliver. `limit` is not supported: pages are small and need no tally. */
  tally(query: Omit<EventQuery, 'limit'>): Promise<EventTally>;

  /** Indices of the boards, or of the users, inside the scope, ascending by id. */
  list(of: ListKind, query: ListQuery): Promise<Int32Array>;

  /** Absent alike for what does not exist and for what is out of scope (decision 12). */
  findBoard(scope: Scope, name: BoardName): Promise<number | undefined>;
  findUser(scope: Scope, name: UserName): Promise<number | undefined>;

  /** Points of the users who are on a board (decision 10), both inside the scope. */
  standings(query: StandingsQuery): Promise<Standings>;
  /**
   * Every award of one user on one board with its outcome, in order, as far as the scope sees
   * (decisions 27, 50).
   */
  ledger(query: LedgerQuery): Promise<Ledger>;

  /** The events in memory, where they are; then `events` and `tally` answer from it without waiting for anything. */
  readonly timeline?: Timeline | undefined;

  /**
   * The order in which lists and points maps have the users, where it is not that of the ids in the
   * store; equal figures stand in it, too. Absent: lists ascend by id, and equal figures stand in
   * the order of the indices.
   */
  readonly userOrder?: (() => Promise<UserOrder>) | undefined;

  /** Frees what the version holds. Called once, after the last answer from it has ended. */
  close(): Promise<void>;
}

export interface Counts {
  readonly events: number;
  readonly users: number;
  readonly boards: number;
  readonly pins: number;
}

/**
 * Under what the records of a user's points map stand (decision 8): `user-id` is the id of the user,
 * followed by that of the board after the first record; `board-id` is the id of the board.
 */
export const USER_POINTS_KEYS = ['user-id', 'board-id'] as const;
export type UserPointsKey = (typeof USER_POINTS_KEYS)[number];

/** Which look-ups by LMS names the organization has switched on (decision 11). */
export interface Lookups {
  readonly course: boolean;
  readonly lmsUserProperties: readonly string[];
}

/** Why an award counts or does not (decisions 23, 24). */
export const AWARD_OUTCOMES = [
  'counted',
  'weekly-maximum',
  'outside-window',
  'too-few-words',
  'self',
] as const;
export type AwardOutcome = (typeof AWARD_OUTCOMES)[number];

export interface LedgerLine {
  readonly timestampMs: number;
  readonly kind: EventKind;
  readonly actorId: bigint;
  readonly ownerId: bigint;
  readonly pinId: bigint | undefined;
  /** Position of the rule in the policy in force on the board, from 0. */
  readonly rule: number;
  /** What the rule pays; it is part of the total only when `outcome` is `counted`. */
  readonly points: number;
  readonly outcome: AwardOutcome;
  /** Start of the week of the award; absent without a weekly maximum. */
  readonly weekStartMs: number | undefined;
}

export interface Adjustment {
  readonly timestampMs: number;
  readonly points: number;
  readonly reason: string;
}

export interface Ledger {
  /**
   * Awards of events inside the scope, with the outcomes that they have without all other events.
   */
  readonly lines: readonly LedgerLine[];
  /**
   * What all other events add to the points that these lines count, or take away: an award can
   * reach a weekly maximum before them. 0 where the scope hides none of them.
   */
  readonly otherPoints: number;
  readonly adjustments: readonly Adjustment[];
  /** Present when imported figures replace the computed ones (decision 26). */
  readonly imported: { readonly totalPoints: number; readonly participationScore: number } | undefined;
  /** What the points routes answer, without a range; absent when the user is not on the board. */
  readonly standing: { readonly totalPoints: number; readonly participationScore: number } | undefined;
}
