/**
 * Records during an import: `ingest` checks them one by one, then a store stages them and checks
 * them against each other. Their types and their columns follow from one description. A field that
 * is `undefined` was not given and leaves the earlier value unchanged (decision 29).
 */
export interface Staged {
  /** Index of the input file, from 0, in the order in which files were announced. */
  readonly file: number;
  /**
   * First line of the record in its file, from 1. In a Parquet file: the row. Negative: a place
   * that only the import understands.
   */
  readonly line: number;
  /**
   * The record as it was read, for the file of rejected records; only kept with `--skip-invalid`.
   */
  readonly raw?: string | undefined;
}

/** The kinds of records in a bundle, in the order in which they are read. */
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

/** Kinds that an import can replace as a whole, because each of their records has an identity. */
export const REPLACEABLE_KINDS = [
  'users',
  'boards',
  'pins',
  'memberships',
  'points',
] as const satisfies readonly RecordKind[];

export type ReplaceableKind = (typeof REPLACEABLE_KINDS)[number];

/** The types of fields. */
interface StagedValues {
  readonly whole: bigint;
  readonly number: number;
  readonly text: string;
  readonly list: readonly string[];
  readonly map: Readonly<Record<string, string>>;
  readonly truth: true;
}

type StagedType = keyof StagedValues;

/**
 * The fields of each kind under their column names, in the order in which they are staged. A
 * question mark: optional. A record has them in camel case.
 */
export const STAGED = {
  users: {
    ...{ id: 'whole', email: 'text?', name: 'text?', first_name: 'text?', last_name: 'text?' },
    ...{ role: 'text?', class_role: 'text?', created_ms: 'number?' },
    /**
     * LMS properties by name, without the prefix `lms.`. They are merged into the earlier ones; an
     * empty value removes a property.
     */
    lms: 'map?',
    /** The user is to be erased permanently (decision 54); see `forgottenUser`. */
    forgotten: 'truth?',
  },
  boards: {
    ...{ id: 'whole', title: 'text?', category: 'text?' },
    /** Empty: none. */
    ...{ lti_id: 'text?', course_id: 'text?' },
    created_ms: 'number?',
  },
  pins: {
    ...{ id: 'whole', board_id: 'whole?', owner_id: 'whole?', title: 'text?', body: 'text?' },
    ...{ web_url: 'text?', image_url: 'text?', tags: 'list?', created_ms: 'number?' },
  },
  memberships: { board_id: 'whole', user_id: 'whole' },
  events: {
    ...{ id: 'whole?', type: 'text', action: 'text', owner_id: 'whole', actor_id: 'whole' },
    /** Given exactly when `type` is `pin`. */
    ...{ board_id: 'whole', pin_id: 'whole?' },
    timestamp_ms: 'number',
    /** What the actor wrote, for example a comment. Never empty. */
    body: 'text?',
  },
  points: { user_id: 'whole', board_id: 'whole', total_points: 'number', participation_score: 'number' },
  adjustments: {
    ...{ user_id: 'whole', board_id: 'whole', points: 'number', timestamp_ms: 'number', reason: 'text' },
  },
} as const satisfies Readonly<Record<RecordKind, Readonly<Record<string, StagedType | `${StagedType}?`>>>>;

type CamelCase<Name extends string> = Name extends `${infer Word}_${infer Others}`
  ? `${Word}${Capitalize<CamelCase<Others>>}`
  : Name;

type FieldsOf<Columns> = {
  readonly [N in keyof Columns & string as Columns[N] extends StagedType
    ? CamelCase<N>
    : never]: StagedValues[Columns[N] & StagedType];
} & {
  readonly [N in keyof Columns & string as Columns[N] extends StagedType ? never : CamelCase<N>]?:
    | (Columns[N] extends `${infer T extends StagedType}?` ? StagedValues[T] : never)
    | undefined;
};

export type RecordOf = { readonly [K in RecordKind]: Staged & FieldsOf<(typeof STAGED)[K]> };

/** A record to delete: all fields that identify it (decision 82). Other fields are ignored. */
export type DeletionOf = { readonly [K in RecordKind]: Staged & Partial<FieldsOf<(typeof STAGED)[K]>> };

/**
 * The columns that identify a record to delete; equal records are deleted together. A deletion of
 * an event can also give its id alone.
 */
export const IDENTITY = {
  users: ['id'],
  boards: ['id'],
  pins: ['id'],
  memberships: ['board_id', 'user_id'],
  events: ['type', 'action', 'owner_id', 'actor_id', 'board_id', 'pin_id', 'timestamp_ms'],
  points: ['user_id', 'board_id'],
  adjustments: ['user_id', 'board_id', 'points', 'timestamp_ms', 'reason'],
} as const satisfies { readonly [K in RecordKind]: readonly (keyof (typeof STAGED)[K])[] };

export type UserRecord = RecordOf['users'];
export type BoardRecord = RecordOf['boards'];
export type PinRecord = RecordOf['pins'];
export type EventRecord = RecordOf['events'];

/** The field of a record that a column holds. */
export function fieldOf(column: string): string {
  return column.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * Many events of one file, without a body, as columns. Equivalent to as many `EventRecord`s and
 * several times as fast. Only the first `count` values of a column are used.
 */
export interface EventColumns {
  readonly file: number;
  readonly count: number;
  readonly lines: Int32Array;
  /** Types and actions; `types` and `actions` are indexes into it. At most 256. */
  readonly words: readonly string[];
  readonly types: Uint8Array;
  readonly actions: Uint8Array;
  /** Whether the event has an id. */
  readonly hasIds: Uint8Array;
  readonly ids: BigInt64Array;
  readonly ownerIds: BigInt64Array;
  readonly actorIds: BigInt64Array;
  readonly boardIds: BigInt64Array;
  /** Whether the event has a pin: exactly when its type is `pin`. */
  readonly hasPins: Uint8Array;
  readonly pinIds: BigInt64Array;
  readonly timestampsMs: BigInt64Array;
}

/**
 * A record that cannot be accepted. `line` 0: the whole file. An empty `field`: the whole record.
 */
export interface StagedProblem {
  readonly file: number;
  readonly line: number;
  readonly field: string;
  readonly reason: string;
  readonly raw?: string | undefined;
  /** Whether the only reason is that a record to which this one refers is refused. */
  readonly isConsequence?: boolean | undefined;
}

/** The name of a record in problems. `place` is where it was staged; absent: it is published. */
export type NameRecord = (kind: ReferredKind, id: bigint, place?: Pick<Staged, 'file' | 'line'>) => string;

/** Kinds of records to which others refer. */
export type ReferredKind = 'users' | 'boards' | 'pins';
