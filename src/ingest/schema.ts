/**
 * The fields of every kind of record (decision 28): one table from which records and headers are checked, names are
 * suggested, and the reference in docs/import.md is made.
 */
import type { RecordKind } from '../dataset/staging.ts';
import {
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
  truth,
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

const PERSON = 'A person written out in an event is a users record, too.';

const SCHEMA_OF = {
  users: {
    id: required(identifier, 'The user.'),
    email: required(email, 'Unique in the organization, ignoring the case of A to Z.'),
    name: optional(text, 'Display name. It or one of its halves must be given.'),
    first_name: optional(text, 'Without the halves, `name` is split at its last space.'),
    last_name: optional(text, 'Without `name`, the halves are joined by a space.'),
    role: optional(text, 'Platform role; `user` when never given.'),
    class_role: optional(text, 'Role in a class.'),
    created_at: optional(
      instant,
      'When the user was created; else the first event that the key sees counts.',
    ),
    forgotten: optional(
      truth,
      'Of somebody who was forgotten: true. Whatever else the record says is left out.',
    ),
  },
  boards: {
    id: required(identifier, 'The board.'),
    title: required(text, ''),
    category: optional(text, ''),
    lti_id: optional(text, 'LTI identifier; unique in the organization. Empty: none.'),
    course_id: optional(text, 'LMS course identifier; unique in the organization. Empty: none.'),
    created_at: optional(
      instant,
      'When the board was created; else the first event that the key sees counts.',
    ),
  },
  pins: {
    id: required(identifier, 'The pin.'),
    board_id: optional(identifier, 'Board it hangs on.'),
    owner_id: optional(identifier, 'User who owns it.'),
    title: optional(text, ''),
    body: optional(longText, ''),
    web_url: optional(text, 'URL of the linked page.'),
    image_url: optional(text, 'URL of an image.'),
    tags: optional(tags, ''),
    created_at: optional(instant, ''),
  },
  memberships: {
    board_id: required(identifier, 'The board.'),
    user_id: required(identifier, 'The user who is on it.'),
  },
  events: {
    id: optional(identifier, 'Makes the event known again, whatever else changes.'),
    type: required(kind, 'What was acted on: `pin`, `board`, …'),
    action: required(kind, 'What was done: `visited`, `followed`, …'),
    owner_id: required(identifier, 'User who owns the object.'),
    owner_email: optional(email, PERSON),
    owner_name: optional(text, 'Required with any other detail of the owner, as is the e-mail address.'),
    owner_role: optional(text, ''),
    owner_class_role: optional(text, ''),
    actor_id: required(identifier, 'User who acted.'),
    actor_email: optional(email, PERSON),
    actor_name: optional(text, 'Required with any other detail of the actor, as is the e-mail address.'),
    actor_role: optional(text, ''),
    actor_class_role: optional(text, ''),
    organization_id: optional(identifier, 'Must be the id of the organization.'),
    organization_name: optional(text, 'Taken over by an import that makes its organization.'),
    organization_domain: optional(text, 'Taken over likewise.'),
    organization_category_id: optional(identifier, 'Taken over likewise.'),
    pin_id: optional(identifier, 'Given exactly when `type` is `pin`.'),
    pin_activity: optional(text, 'Must repeat `action`.'),
    pin_title: optional(text, 'A pin written out in an event is a pins record, too.'),
    pin_body: optional(longText, ''),
    pin_web_url: optional(text, ''),
    pin_image_url: optional(text, ''),
    pin_tags: optional(tags, ''),
    board_id: required(identifier, 'Board on which it happened.'),
    board_title: optional(text, 'A board written out in an event is a boards record, too.'),
    board_category: optional(text, ''),
    timestamp: required(instant, 'When it happened.'),
  },
  points: {
    user_id: required(identifier, ''),
    board_id: required(identifier, ''),
    total_points: required(count, 'Replaces what the policy would compute.'),
    participation_score: required(count, 'Likewise.'),
  },
  adjustments: {
    user_id: required(identifier, ''),
    board_id: required(identifier, ''),
    points: required(integer, 'Added to the total; may be negative.'),
    timestamp: required(instant, 'When they were given or taken away.'),
    reason: required(text, ''),
  },
} as const satisfies Record<RecordKind, Readonly<Record<string, SchemaEntry>>>;

type SchemaOf = typeof SCHEMA_OF;

/** What is left of a record after each field has been checked by itself. */
export type Values<K extends RecordKind> = {
  readonly [N in keyof SchemaOf[K]]: SchemaOf[K][N] extends Required<infer T>
    ? T
    : SchemaOf[K][N] extends Optional<infer T>
      ? T | undefined
      : never;
};

/** The fields of every kind by name, in the order of the reference. */
export const SCHEMA: Readonly<Record<RecordKind, Readonly<Record<string, SchemaEntry>>>> = SCHEMA_OF;

/** Users carry LMS properties, each in a field of its own: `lms.sis_user_id` (decision 11). */
export const LMS_PREFIX = 'lms.';

/** Objects of a nested event (contract 2.1): `owner.email` is the field `owner_email`. */
export const EVENT_OBJECTS: readonly string[] = ['owner', 'actor', 'organization', 'pin', 'board'];
