/**
 * The fields of every kind of record (decision 28), in one table. It is the source of the checks of
 * records and headers, of suggested names, and of the reference in docs/import.md.
 */
import type { RecordKind } from '../../store/staging.ts';
import {
  boolean,
  count,
  email,
  type Field,
  identifier,
  instant,
  integer,
  kind,
  longText,
  tags,
  text,
} from './fields.ts';

export interface SchemaEntry<T = unknown> {
  readonly field: Field<T>;
  readonly required: boolean;
  readonly note: string;
}

interface Required<T> extends SchemaEntry<T> {
  readonly required: true;
}

interface Optional<T> extends SchemaEntry<T> {
  readonly required: false;
}

function required<T>(field: Field<T>, note: string): Required<T> {
  return { field, required: true, note };
}

function optional<T>(field: Field<T>, note: string): Optional<T> {
  return { field, required: false, note };
}

const DELETED = { deleted: optional(boolean, '`true` deletes the record ([below](#deletions)).') };

const PERSON = 'A user in an event is also a users record.';

const SCHEMA_OF = {
  users: {
    id: required(identifier, 'The user.'),
    email: required(email, 'Unique in the organization, ignoring the case of A to Z.'),
    name: optional(text, 'Display name. Required unless `first_name` or `last_name` is given.'),
    first_name: optional(text, 'Without first and last name, `name` is split at its last space.'),
    last_name: optional(text, 'Without `name`, first and last name are joined by a space.'),
    role: optional(text, 'Platform role; `user` by default.'),
    class_role: optional(text, 'Role in a class.'),
    created_at: optional(
      instant,
      'Time of creation. Without it, the first event that the key can see counts.',
    ),
    forgotten: optional(boolean, '`true` for an erased user; all other fields are ignored.'),
    ...DELETED,
  },
  boards: {
    id: required(identifier, 'The board.'),
    title: required(text, ''),
    category: optional(text, ''),
    lti_id: optional(text, 'LTI identifier; unique in the organization. Empty: none.'),
    course_id: optional(text, 'LMS course identifier; unique in the organization. Empty: none.'),
    created_at: optional(
      instant,
      'Time of creation. Without it, the first event that the key can see counts.',
    ),
    ...DELETED,
  },
  pins: {
    id: required(identifier, 'The pin.'),
    board_id: optional(identifier, 'Board of the pin.'),
    owner_id: optional(identifier, 'Owner of the pin.'),
    title: optional(text, ''),
    body: optional(longText, ''),
    web_url: optional(text, 'URL of the linked page.'),
    image_url: optional(text, 'URL of an image.'),
    tags: optional(tags, ''),
    created_at: optional(instant, ''),
    ...DELETED,
  },
  memberships: {
    board_id: required(identifier, 'The board.'),
    user_id: required(identifier, 'The user on the board.'),
    ...DELETED,
  },
  events: {
    id: optional(identifier, 'Identifies the event in later imports, even if other fields change.'),
    type: required(kind, 'What was acted on: `pin`, `board`, …'),
    action: required(kind, 'What was done: `visited`, `followed`, …'),
    owner_id: required(identifier, 'Owner of the object.'),
    owner_email: optional(email, PERSON),
    owner_name: optional(
      text,
      'Required, with the e-mail address, if any other detail of the owner is given.',
    ),
    owner_role: optional(text, ''),
    owner_class_role: optional(text, ''),
    actor_id: required(identifier, 'User who performed the action.'),
    actor_email: optional(email, PERSON),
    actor_name: optional(
      text,
      'Required, with the e-mail address, if any other detail of the actor is given.',
    ),
    actor_role: optional(text, ''),
    actor_class_role: optional(text, ''),
    organization_id: optional(identifier, 'Must be the id of the organization.'),
    organization_name: optional(text, 'Used if the import creates the organization.'),
    organization_domain: optional(text, 'Likewise.'),
    organization_category_id: optional(identifier, 'Likewise.'),
    pin_id: optional(identifier, 'Required if `type` is `pin`; not allowed otherwise.'),
    pin_activity: optional(text, 'Must be equal to `action`.'),
    pin_title: optional(text, 'A pin in an event is also a pins record.'),
    pin_body: optional(longText, ''),
    pin_web_url: optional(text, ''),
    pin_image_url: optional(text, ''),
    pin_tags: optional(tags, ''),
    board_id: required(identifier, 'Board of the event.'),
    board_title: optional(text, 'A board in an event is also a boards record.'),
    board_category: optional(text, ''),
    timestamp: required(instant, 'When it happened.'),
    body: optional(longText, 'What the actor wrote, for example a comment. Empty: nothing.'),
    ...DELETED,
  },
  points: {
    user_id: required(identifier, ''),
    board_id: required(identifier, ''),
    total_points: required(count, 'Replaces the total that the policy would compute.'),
    participation_score: required(count, 'Replaces the score that the policy would compute.'),
    ...DELETED,
  },
  adjustments: {
    user_id: required(identifier, ''),
    board_id: required(identifier, ''),
    points: required(integer, 'Added to the total; may be negative.'),
    timestamp: required(instant, 'Time of the adjustment.'),
    reason: required(text, ''),
    ...DELETED,
  },
} as const satisfies Record<RecordKind, Readonly<Record<string, SchemaEntry>>>;

type SchemaOf = typeof SCHEMA_OF;

/** The values of a record after each field has been checked by itself. */
export type Values<K extends RecordKind> = {
  readonly [N in keyof SchemaOf[K]]: SchemaOf[K][N] extends Required<infer T>
    ? T
    : SchemaOf[K][N] extends Optional<infer T>
      ? T | undefined
      : never;
};

/** The fields of every kind of record by name, in the order of the reference. */
export const SCHEMA: Readonly<Record<RecordKind, Readonly<Record<string, SchemaEntry>>>> = SCHEMA_OF;

/** Prefix of fields of users that contain an LMS property each: `lms.sis_user_id` (decision 11). */
export const LMS_PREFIX = 'lms.';

/** Whether an LMS property can have this name: 1 to 64 printable characters without white space. */
export function isLmsProperty(name: string): boolean {
  return /^[^\p{C}\p{Z}]{1,64}$/u.test(name);
}

/** Objects of a nested event (contract 2.1): `owner.email` is the field `owner_email`. */
export const EVENT_OBJECTS: readonly string[] = ['owner', 'actor', 'organization', 'pin', 'board'];

/** The fields that every record of a kind must have, unless it is to be deleted. */
export function requiredFields(kind: RecordKind): readonly string[] {
  return Object.entries(SCHEMA[kind]).flatMap(([name, { required }]) => (required ? [name] : []));
}

/**
 * The fields that identify a record to be deleted (decision 82): the id where there is one, or else
 * all that any record of its kind requires.
 */
export function identifyingFields(kind: RecordKind, hasId: boolean): readonly string[] {
  if (hasId || (kind !== 'events' && 'id' in SCHEMA[kind])) return ['id'];
  return kind === 'points' ? ['user_id', 'board_id'] : requiredFields(kind);
}
