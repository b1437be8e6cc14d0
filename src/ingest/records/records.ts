/**
 * Makes records for the store from checked fields, and checks rules that concern several fields. A
 * nested event also contains records of users, the board and the pin.
 */
import { forgottenUser, isOfForgotten } from '../../store/forgotten.ts';
import {
  type BoardRecord,
  type DeletionOf,
  fieldOf,
  IDENTITY,
  type PinRecord,
  type RecordKind,
  type RecordOf,
  type Staged,
  type UserRecord,
} from '../../store/staging.ts';
import type { Settings } from '../../store/store.ts';
import { type Filled, fillDeletion, fillForm, isDeletion, type Written } from '../fields/form.ts';
import { Refusal } from '../fields/refusal.ts';
import type { Values } from '../fields/schema.ts';

/**
 * Receives the records that a written record contains. Those that an event requires come before it.
 */
export type Take = <K extends RecordKind>(kind: K, record: RecordOf[K]) => void;

/** Receives a record that is to be deleted. */
export type TakeDeletion = <K extends RecordKind>(kind: K, deletion: DeletionOf[K]) => void;

/** A record in a bundle, which can be a deletion. Otherwise like `readRecord`. */
export function readRecordOrDeletion(
  kind: RecordKind,
  written: Written,
  at: Staged,
  organizationId: bigint,
  take: Take,
  takeDeletion: TakeDeletion,
): void {
  if (isDeletion(written)) takeDeletion(kind, readDeletion(kind, written, at));
  else readRecord(kind, written, at, organizationId, take);
}

function readDeletion<K extends RecordKind>(kind: K, written: Written, at: Staged): DeletionOf[K] {
  const values: Readonly<Record<string, unknown>> = fillDeletion(kind, written);
  const columns = values['id'] === undefined ? IDENTITY[kind] : ['id'];
  const named = columns.map((column) => [fieldOf(column), values[column.replace(/_ms$/, '')]]);
  // The names of columns and of fields in files come from tables with the same types.
  return { ...at, ...Object.fromEntries(named) } as DeletionOf[K];
}

/**
 * Checks a written record and passes the records that it contains to `take`; none if it is refused.
 * An event with an organization id other than `organizationId` is refused. Throws `Refusal`.
 */
export function readRecord(
  kind: RecordKind,
  written: Written,
  at: Staged,
  organizationId: bigint,
  take: Take,
): void {
  if (kind === 'events') readEvent(fillForm(kind, written), at, organizationId, take);
  else if (kind === 'users') take(kind, readUser(fillForm(kind, written), written.isCells, at));
  else if (kind === 'boards') take(kind, readBoard(fillForm(kind, written), at));
  else if (kind === 'pins') take(kind, readPin(fillForm(kind, written), at));
  else if (kind === 'memberships') {
    const { values } = fillForm(kind, written);
    take(kind, { ...at, boardId: values.board_id, userId: values.user_id });
  } else if (kind === 'points') {
    const { values } = fillForm(kind, written);
    take(kind, {
      ...at,
      userId: values.user_id,
      boardId: values.board_id,
      totalPoints: values.total_points,
      participationScore: values.participation_score,
    });
  } else {
    const { values } = fillForm(kind, written);
    take(kind, {
      ...at,
      userId: values.user_id,
      boardId: values.board_id,
      points: values.points,
      timestampMs: values.timestamp,
      reason: values.reason,
    });
  }
}

/**
 * The organization named by an event, with the fields of the API; undefined if it names none.
 * Throws `Refusal`.
 */
export function readIdentity(written: Written): Partial<Settings> | undefined {
  const { values } = fillForm('events', written);
  const { organization_id: id, organization_name: title, organization_domain: domain } = values;
  const categoryId = values.organization_category_id;
  if (id === undefined) return undefined;
  return {
    id,
    ...(title === undefined ? {} : { title }),
    ...(domain === undefined ? {} : { domain }),
    ...(categoryId === undefined ? {} : { categoryId }),
  };
}

function readUser({ values, lms }: Filled<'users'>, isCells: boolean, at: Staged): UserRecord {
  if (values.forgotten === true) return forgottenUser(values.id, at);
  checkAddress('email', values.email, values.id);
  let { name, first_name: firstName, last_name: lastName } = values;
  if (isCells) {
    // A table can have columns for both forms of a name. A form that a row leaves empty is not
    // used.
    if (name === '' && (firstName || lastName)) name = undefined;
    else if (name && !firstName && !lastName) firstName = lastName = undefined;
  }
  if (name === undefined && firstName === undefined && lastName === undefined) {
    throw new Refusal('name', 'is required, unless first_name or last_name is given');
  }
  return {
    ...at,
    id: values.id,
    email: values.email,
    name,
    firstName,
    lastName,
    role: values.role,
    classRole: values.class_role,
    createdMs: values.created_at,
    lms,
  };
}

function checkAddress(field: string, email: string, id: bigint): void {
  if (isOfForgotten(email, id)) throw new Refusal(field, 'belongs to a different user, who was forgotten');
}

function readBoard({ values }: Filled<'boards'>, at: Staged): BoardRecord {
  return {
    ...at,
    id: values.id,
    title: values.title,
    category: values.category,
    ltiId: values.lti_id,
    courseId: values.course_id,
    createdMs: values.created_at,
  };
}

function readPin({ values }: Filled<'pins'>, at: Staged): PinRecord {
  return {
    ...at,
    id: values.id,
    boardId: values.board_id,
    ownerId: values.owner_id,
    title: values.title,
    body: values.body,
    webUrl: values.web_url,
    imageUrl: values.image_url,
    tags: values.tags,
    createdMs: values.created_at,
  };
}

function readEvent(filled: Filled<'events'>, at: Staged, organizationId: bigint, take: Take): void {
  const { values, nameOf } = filled;
  if (values.organization_id !== undefined && values.organization_id !== organizationId) {
    const reason = `is ${values.organization_id}, but the id of the organization is ${organizationId}`;
    throw new Refusal(nameOf('organization_id'), reason);
  }
  checkPin(filled);
  const owner = readPerson('owner', ownerOf(values), nameOf, at);
  const actor = readPerson('actor', actorOf(values), nameOf, at);
  const board = readEventBoard(filled, at);
  if (owner !== undefined) take('users', owner);
  if (actor !== undefined) take('users', actor);
  if (board !== undefined) take('boards', board);
  if (values.pin_id !== undefined && hasPinDetails(values))
    take('pins', readEventPin(values, values.pin_id, at));
  take('events', {
    ...at,
    id: values.id,
    type: values.type,
    action: values.action,
    ownerId: values.owner_id,
    actorId: values.actor_id,
    boardId: values.board_id,
    pinId: values.pin_id,
    timestampMs: values.timestamp,
    body: values.body === '' ? undefined : values.body,
  });
}

/**
 * Only events of type `pin` have a pin, and they must (decision 7). An empty cell counts as absent.
 */
function checkPin({ values, nameOf }: Filled<'events'>): void {
  const isPin = values.type === 'pin';
  if (isPin && values.pin_id === undefined) {
    throw new Refusal(nameOf('pin_id'), 'is required, because type is pin');
  }
  if (!isPin && (values.pin_id !== undefined || hasPinDetails(values))) {
    throw new Refusal(nameOf('pin_id'), `must not be given: only events of type pin have a pin`);
  }
  if (values.pin_activity && values.pin_activity !== values.action) {
    throw new Refusal(nameOf('pin_activity'), 'must repeat action');
  }
}

function hasPinDetails(values: Values<'events'>): boolean {
  const { pin_title, pin_body, pin_web_url, pin_image_url, pin_tags } = values;
  if (values.pin_id === undefined) {
    return Boolean(pin_title || pin_body || pin_web_url || pin_image_url || pin_tags?.length);
  }
  const all = pin_title ?? pin_body ?? pin_web_url ?? pin_image_url ?? pin_tags;
  return all !== undefined;
}

function readEventPin(values: Values<'events'>, id: bigint, at: Staged): PinRecord {
  return {
    ...at,
    id,
    boardId: values.board_id,
    ownerId: values.owner_id,
    title: values.pin_title,
    body: values.pin_body,
    webUrl: values.pin_web_url,
    imageUrl: values.pin_image_url,
    tags: values.pin_tags,
  };
}

function readEventBoard({ values, nameOf }: Filled<'events'>, at: Staged): BoardRecord | undefined {
  const { board_id: id, board_title: title, board_category: category } = values;
  if (title === undefined && category === undefined) return undefined;
  if (title === undefined) throw new Refusal(nameOf('board_title'), 'is required with board_category');
  return { ...at, id, title, category };
}

type PersonValues = Pick<UserRecord, 'id' | 'email' | 'name' | 'role' | 'classRole'>;

function ownerOf(values: Values<'events'>): PersonValues {
  return {
    id: values.owner_id,
    email: values.owner_email,
    name: values.owner_name,
    role: values.owner_role,
    classRole: values.owner_class_role,
  };
}

function actorOf(values: Values<'events'>): PersonValues {
  return {
    id: values.actor_id,
    email: values.actor_email,
    name: values.actor_name,
    role: values.actor_role,
    classRole: values.actor_class_role,
  };
}

/** Undefined if the event contains only the id of the user. */
function readPerson(
  part: 'owner' | 'actor',
  person: PersonValues,
  nameOf: (field: string) => string,
  at: Staged,
): UserRecord | undefined {
  if ((person.email ?? person.name ?? person.role ?? person.classRole) === undefined) return undefined;
  const missing = person.email === undefined ? 'email' : person.name === undefined ? 'name' : undefined;
  if (missing !== undefined) {
    throw new Refusal(
      nameOf(`${part}_${missing}`),
      `is required, because other details of the ${part} are given`,
    );
  }
  if (person.email !== undefined) checkAddress(nameOf(`${part}_email`), person.email, person.id);
  return { ...at, ...person };
}
