/**
 * The read interface: one immutable version of the data of one organization. Every query is
 * answered from that version, however long the response takes and whatever is published meanwhile.
 */

import type { PermittedProperty } from '../domain/lms-split.ts';
import type { Scope } from '../domain/scope.ts';
import type { Unseen } from '../domain/user-clocks.ts';
import type { DatasetChanges, Origin } from './changes.ts';
import type { CommonValues } from './common-values.ts';
import type { ImagePlace } from './image.ts';
import type {
  BoardName,
  EventBatch,
  EventQuery,
  EventTally,
  LedgerQuery,
  ListKind,
  ListQuery,
  PointsQuery,
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
  /**
   * Unique to this version across all organizations and all time. Never sent to a client as it is.
   */
  readonly version: string;
  readonly organization: Organization;
  readonly lookups: Lookups;
  readonly userPointsKey: UserPointsKey;
  /** The points policy in force, as text for `points/policy`. */
  readonly policy: string;
  readonly counts: Counts;
  /**
   * The clock of the organization. No event of this version has a larger sequence; every event that
   * a later version adds has a larger one. It advances with every publication.
   */
  readonly lastSequence: number;
  /** All kinds of events, by index. */
  readonly kinds: readonly EventKind[];

  /**
   * Evaluates a scope in time slices, for the queries that follow. Returns undefined if that is
   * done already or not needed. Without it, the first query with the scope evaluates it without
   * yielding.
   */
  prepare?(scope: Scope): Promise<void> | undefined;

  /**
   * All users, boards or pins in the order of their indices, in batches. Not scoped: do not send it
   * as a response.
   */
  records<T extends RecordTable>(of: T): AsyncIterable<RecordColumns<T>>;

  /**
   * The other tables of the version, as columns, for loading all of it into memory and for
   * gradebooks. Not scoped either.
   */
  tables(): Tables;

  /**
   * The values of an LMS property that a split can show (decision 104). Not scoped: a value may be
   * common only because of users that a key cannot see. The values of the properties that were read
   * last are kept, as the same object, so that callers can cache what they derive from it.
   */
  commonValues(property: PermittedProperty): Promise<CommonValues>;

  /**
   * The change set since the version whose `lastSequence` was `sequence`. `unseen` says which user
   * fields the reader cannot see; absent: the reader sees all of them. Not scoped: the scope
   * applies when its events are queried.
   */
  revisions(sequence: number, unseen?: Unseen): Promise<Revisions>;
  /** Ids of users inside the scope who were forgotten since, ascending (decision 54). */
  forgotten(scope: Scope, sequence: number): Promise<readonly bigint[]>;
  /**
   * Sequences of the events that matched the query and were deleted since the version whose
   * `lastSequence` was `sequence`; ascending, the first `most` (decision 82).
   */
  deletedEvents(query: Omit<EventQuery, 'limit'>, sequence: number, most: number): Promise<Float64Array>;

  /**
   * Events inside the scope, oldest first, ties in import order (decision 4). In batches of bounded
   * size, none empty.
   */
  events(query: EventQuery): AsyncIterable<EventBatch>;
  /**
   * Counts over the events that `events` returns for the same query. `limit` is not supported:
   * pages are small and need no tally.
   */
  tally(query: Omit<EventQuery, 'limit'>): Promise<EventTally>;

  /** Indices of the boards or users inside the scope, ascending by id. */
  list(of: ListKind, query: ListQuery): Promise<Int32Array>;

  /**
   * Returns undefined both for boards and users that do not exist and for those outside the scope
   * (decision 12).
   */
  findBoard(scope: Scope, name: BoardName): Promise<number | undefined>;
  findUser(scope: Scope, name: UserName): Promise<number | undefined>;

  /**
   * Points totals of the users who are on a board (decision 10), ascending by user id, then board
   * id; board and user are both inside the scope.
   */
  standings(query: StandingsQuery): Promise<Standings>;
  /**
   * The same for several boards, ascending by board id, then user id (decision 93). In batches of
   * at most 2,048 rows, none empty.
   */
  points(query: PointsQuery): AsyncIterable<Standings>;
  /**
   * Every award of one user on one board with its outcome, in order, as far as the scope allows
   * (decisions 27, 50).
   */
  ledger(query: LedgerQuery): Promise<Ledger>;

  /**
   * The events, if they are in memory; `events` and `tally` then read from it without waiting for
   * anything.
   */
  readonly timeline?: Timeline | undefined;

  /** Absent unless the version was made from an earlier one in memory. */
  readonly origin?: Origin | undefined;

  /**
   * The order of users in lists and points maps, if it is not that of the ids in the store. It also
   * breaks ties between users with equal counts. Absent: lists ascend by id, and ties are in index
   * order.
   */
  readonly userOrder?: (() => Promise<UserOrder>) | undefined;

  /**
   * The bytes of all texts of users, boards and pins, from which the memory of a version is
   * estimated; absent if they are in memory already.
   */
  textBytes?(): Promise<number>;

  /**
   * What this version has that an earlier one in memory had not. Undefined if that is not known, or
   * too much. Absent if it is never known.
   */
  changesSince?(before: Dataset): Promise<DatasetChanges | undefined>;

  /** False until the file of the version is opened. Absent: there is no such file. */
  readonly isOpen?: boolean | undefined;

  /** Where the memory image of the version is kept; absent if it has none. */
  readonly image?: ImagePlace | undefined;

  /**
   * Where its fragments are kept. A version in memory writes them once it has been served for a
   * while.
   */
  readonly fragmentImage?: ImagePlace | undefined;

  /**
   * Prepares the version for its next opening; may be called before `close`. Absent: it need not be
   * prepared.
   */
  setAside?(): Promise<void>;

  /** Frees the resources of the version. Called once, after the last response from it has ended. */
  close(): Promise<void>;
}

export interface Counts {
  readonly events: number;
  readonly users: number;
  readonly boards: number;
  readonly pins: number;
}

/**
 * The keys of the records in a user's points map (decision 8). `user-id`: the id of the user,
 * followed by the id of the board from the second record on. `board-id`: the id of the board.
 */
export const USER_POINTS_KEYS = ['user-id', 'board-id'] as const;
export type UserPointsKey = (typeof USER_POINTS_KEYS)[number];

/** The look-ups by LMS names that the organization has enabled (decision 11). */
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
  /** Points of the rule; part of the total only if `outcome` is `counted`. */
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
   * Awards of events inside the scope. Their outcomes are computed as if no other events existed.
   */
  readonly lines: readonly LedgerLine[];
  /**
   * The difference that all other events make to the counted points of these lines. It can be
   * negative, because another award may reach a weekly maximum before these. 0 if the scope hides
   * no events.
   */
  readonly otherPoints: number;
  readonly adjustments: readonly Adjustment[];
  /** Present if imported values replace the computed ones (decision 26). */
  readonly imported: { readonly totalPoints: number; readonly participationScore: number } | undefined;
  /**
   * The points total that the points routes return without a range; absent if the user is not on
   * the board.
   */
  readonly standing: { readonly totalPoints: number; readonly participationScore: number } | undefined;
}
