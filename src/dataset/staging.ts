/**
 * Records on their way in: checked one by one by `ingest`, staged in a store, and checked there against each
 * other. A field that is `undefined` was not given and leaves the earlier value as it is (decision 29).
 */
export interface Staged {
  /** Index of the input file, from 0, in the order in which files were announced. */
  readonly file: number;
  /** First line of the record in its file, from 1 (of a Parquet file: the row). */
  readonly line: number;
  /** The record as it was read, for the file of rejects; only kept with `--skip-invalid`. */
  readonly raw?: string | undefined;
}

export interface UserRecord extends Staged {
  readonly id: bigint;
  readonly email?: string | undefined;
  readonly name?: string | undefined;
  readonly firstName?: string | undefined;
  readonly lastName?: string | undefined;
  readonly role?: string | undefined;
  readonly classRole?: string | undefined;
  readonly createdMs?: number | undefined;
  /** LMS properties by name, without the prefix `lms.`; merged into the earlier ones, an empty value removes one. */
  readonly lms?: Readonly<Record<string, string>> | undefined;
  /** The person is to be erased, everywhere and for good (decision 54); see `forgottenUser`. */
  readonly forgotten?: true | undefined;
}

export interface BoardRecord extends Staged {
  readonly id: bigint;
  readonly title?: string | undefined;
  readonly category?: string | undefined;
  /** Empty: none. */
  readonly ltiId?: string | undefined;
  readonly courseId?: string | undefined;
  readonly createdMs?: number | undefined;
}

export interface PinRecord extends Staged {
  readonly id: bigint;
  readonly boardId?: bigint | undefined;
  readonly ownerId?: bigint | undefined;
  readonly title?: string | undefined;
  readonly body?: string | undefined;
  readonly webUrl?: string | undefined;
  readonly imageUrl?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly createdMs?: number | undefined;
}

export interface EventRecord extends Staged {
  readonly id?: bigint | undefined;
  readonly type: string;
  readonly action: string;
  readonly ownerId: bigint;
  readonly actorId: bigint;
  readonly boardId: bigint;
  /** Given exactly when `type` is `pin`. */
  readonly pinId?: bigint | undefined;
  readonly timestampMs: number;
}

/**
 * Many events of one file as columns, which says the same as that many `EventRecord`s and takes a fraction of the
 * time. Only the first `count` places of a column count.
 */
export interface EventColumns {
  readonly file: number;
  readonly count: number;
  readonly lines: Int32Array;
  /** Types and actions; `types` and `actions` are places in it. At most 256. */
  readonly words: readonly string[];
  readonly types: Uint8Array;
  readonly actions: Uint8Array;
  /** Whether the event has an id. */
  readonly hasIds: Uint8Array;
  readonly ids: BigInt64Array;
  readonly ownerIds: BigInt64Array;
  readonly actorIds: BigInt64Array;
  readonly boardIds: BigInt64Array;
  /** Whether the event has a pin, which is so exactly when its type is `pin`. */
  readonly hasPins: Uint8Array;
  readonly pinIds: BigInt64Array;
  readonly timestampsMs: BigInt64Array;
}

export interface MembershipRecord extends Staged {
  readonly boardId: bigint;
  readonly userId: bigint;
}

export interface PointsRecord extends Staged {
  readonly userId: bigint;
  readonly boardId: bigint;
  readonly totalPoints: number;
  readonly participationScore: number;
}

export interface AdjustmentRecord extends Staged {
  readonly userId: bigint;
  readonly boardId: bigint;
  readonly points: number;
  readonly timestampMs: number;
  readonly reason: string;
}

/** What a bundle can hold, in the order in which it is read. */
export const RECORD_KINDS = [
  'users',
  'boards',
  'pins',
  'memberships',
  'events',
  'points',
  'adjustments',
] as const;
export type RecordKind = (typeof RECORD_KINDS)[number];

export interface RecordOf {
  users: UserRecord;
  boards: BoardRecord;
  pins: PinRecord;
  memberships: MembershipRecord;
  events: EventRecord;
  points: PointsRecord;
  adjustments: AdjustmentRecord;
}

/** A record that cannot be accepted. `line` 0 and `field` '' speak of the whole file and the whole record. */
export interface Problem {
  readonly file: number;
  readonly line: number;
  readonly field: string;
  readonly reason: string;
  readonly raw?: string | undefined;
}
