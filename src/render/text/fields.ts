/**
 * The fields of the contract (section 2), in its order: those that every representation writes of
 * each resource. Their names are those of the columns (`RECORDS`).
 */
import type { ListKind } from '../../dataset/query.ts';
import type { EventKind, Organization, RecordColumns, RecordTable } from '../../dataset/records.ts';
import { TextColumn } from '../../dataset/text-column.ts';
import type { Variant } from './rendered-body.ts';

/** A field is an integer or a text. */
export type FieldColumn = BigInt64Array | TextColumn;

/** Columns by field name. */
export type FieldColumns<Name extends string = string> = Readonly<Record<Name, FieldColumn>>;

/** Contract 2.2. */
export const PERSON = ['id', 'email', 'name', 'role', 'class_role'] as const;

/** Contract 2.3. */
export const ORGANIZATION = ['id', 'name', 'domain', 'category_id'] as const;

/**
 * Contract 2.4, without `activity`, which belongs to the event and is written between these two
 * groups (decision 7).
 */
export const PIN_BEFORE_ACTIVITY = ['id'] as const;
export const ACTIVITY = ['activity'] as const;
export const PIN_AFTER_ACTIVITY = ['title', 'body', 'web_url', 'image_url', 'tags'] as const;

/** Contract 2.5. */
export const BOARD = ['id', 'title', 'category'] as const;

/** The columns of a record table that can be fields. */
type FieldName<T extends RecordTable> = keyof {
  [Name in keyof RecordColumns<T> as RecordColumns<T>[Name] extends FieldColumn ? Name : never]: unknown;
};

/** Contract 2.6, 2.7. */
export const LIST_FIELDS = {
  boards: { a: ['id', 'title'], b: BOARD },
  users: { a: ['id', 'first_name', 'last_name', 'email'], b: ['id', 'email', 'role', 'name'] },
} as const satisfies { [K in ListKind]: Readonly<Record<Variant, readonly FieldName<K>[]>> };

/**
 * The fields of a row of points (decision 93): those of its user and of its board, each with the
 * column that it shows, and its numbers.
 */
export const POINTS_FIELDS = {
  users: { user_id: 'id', email: 'email', name: 'name' },
  boards: { board_id: 'id', board_title: 'title' },
} as const satisfies { [K in ListKind]: Readonly<Record<string, FieldName<K>>> };
export const POINTS_NUMBERS = ['total_points', 'participation_score'] as const;

/** The names of these fields, in order. */
export const POINTS_COLUMNS: readonly string[] = [
  ...Object.keys(POINTS_FIELDS.users),
  ...Object.keys(POINTS_FIELDS.boards),
  ...POINTS_NUMBERS,
];

/** The columns of a part of a row of points, by the names of its fields. */
export function pointsColumns(of: ListKind, records: Readonly<Record<string, unknown>>): FieldColumns {
  const columns = Object.entries(POINTS_FIELDS[of]).map(([name, field]) => [name, records[field]]);
  return Object.fromEntries(columns);
}

/** The fields of a pin in insights. */
export const RANKED_PIN = ['id', 'title', 'web_url', 'tags'] as const;

export const KIND = ['type', 'action'] as const;

/**
 * The columns of an event in tables, in order. Those of pins are empty for events without a pin.
 */
export const EVENT_SECTIONS = [
  { of: 'kind', prefix: '', fields: KIND },
  { of: 'owner', prefix: 'owner_', fields: PERSON },
  { of: 'actor', prefix: 'actor_', fields: PERSON },
  { of: 'organization', prefix: 'organization_', fields: ORGANIZATION },
  { of: 'pin', prefix: 'pin_', fields: PIN_BEFORE_ACTIVITY },
  { of: 'activity', prefix: 'pin_', fields: ACTIVITY },
  { of: 'pin', prefix: 'pin_', fields: PIN_AFTER_ACTIVITY },
  { of: 'board', prefix: 'board_', fields: BOARD },
] as const;

/** A single row. */
export function organizationColumns(
  organization: Organization,
): FieldColumns<(typeof ORGANIZATION)[number]> & { readonly id: BigInt64Array } {
  return {
    id: BigInt64Array.of(organization.id),
    name: TextColumn.of([organization.title]),
    domain: TextColumn.of([organization.domain]),
    category_id: BigInt64Array.of(organization.categoryId),
  };
}

export function kindColumns(kinds: readonly EventKind[]): FieldColumns<'type' | 'action' | 'activity'> {
  const action = TextColumn.of(kinds.map((kind) => kind.action));
  return { type: TextColumn.of(kinds.map(({ type }) => type)), action, activity: action };
}
