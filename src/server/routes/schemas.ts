/**
 * The resources of the contract (section 2), and the documents that Corkboard adds, as schemas: the
 * source of the OpenAPI documents and of the types of the client. A schema with a `title` becomes a
 * component.
 */
import { type Static, Type } from 'typebox';
import { PROBLEM_CODES } from '../../domain/app-error.ts';
import { FIELD_NOTES } from '../../domain/field-notes.ts';

const {
  event: EVENT,
  person: PERSON,
  organization: ORGANIZATION,
  pin: PIN,
  board: BOARD,
  user: USER,
} = FIELD_NOTES;

const Id = (description: string) =>
  Type.Integer({ format: 'int64', description: `${description} Can exceed 2^53: keep all digits.` });

export const Person = Type.Object(
  {
    id: Id(PERSON.id),
    email: Type.String({ description: PERSON.email }),
    name: Type.String({ description: PERSON.name }),
    role: Type.String({ description: PERSON.role, examples: ['coadmin', 'user'] }),
    class_role: Type.String({ description: PERSON.class_role, examples: ['instructor'] }),
  },
  { title: 'Person', description: 'Owner or actor of an event.' },
);

export const Organization = Type.Object(
  {
    id: Id(ORGANIZATION.id),
    name: Type.String({ description: ORGANIZATION.name }),
    domain: Type.String({ description: ORGANIZATION.domain }),
    category_id: Id(ORGANIZATION.category_id),
  },
  { title: 'Organization' },
);

export const Pin = Type.Object(
  {
    id: Id(PIN.id),
    activity: Type.String({ description: PIN.activity }),
    title: Type.String({ description: PIN.title }),
    body: Type.String({ description: PIN.body }),
    web_url: Type.String({ description: PIN.web_url }),
    image_url: Type.String({ description: PIN.image_url }),
    tags: Type.Array(Type.String(), { description: PIN.tags }),
  },
  { title: 'Pin' },
);

export const BoardRef = Type.Object(
  {
    id: Id(BOARD.id),
    title: Type.String({ description: BOARD.title }),
    category: Type.String({ description: BOARD.category }),
  },
  { title: 'BoardRef' },
);

export const Event = Type.Object(
  {
    type: Type.String({ description: EVENT.type, examples: ['pin', 'board'] }),
    action: Type.String({ description: EVENT.action, examples: ['visited', 'followed'] }),
    owner: Person,
    actor: Person,
    organization: Organization,
    pin: Type.Optional(Pin),
    board: BoardRef,
    timestamp: Type.String({
      format: 'date-time',
      pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}\\+00:00$',
      description: EVENT.timestamp,
    }),
    sync_id: Type.Optional(
      Type.String({
        description: 'Only with `since`: identifies the event, even if its other members change.',
      }),
    ),
  },
  {
    title: 'Event',
    description: 'An event. It has `pin` if and only if its type is `pin`.',
    // Generators ignore these keywords and see one object; most do not support a union here.
    if: { properties: { type: { const: 'pin' } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
    then: { description: 'An event on a pin.', properties: { pin: Pin }, required: ['pin'] },
    else: { description: 'An event on any other object.', properties: { pin: false } },
  },
);

const Forgotten = Type.Object(
  { forgotten: Type.Object({ user: Id('User identifier.') }) },
  {
    title: 'Forgotten',
    description: 'Only with `since`: an erased user. Delete all events whose actor has this id.',
  },
);

const Deleted = Type.Object(
  { sync_id: Type.String({ description: 'Of an earlier response.' }), deleted: Type.Literal(true) },
  { title: 'Deleted', description: 'Only with `since`: an event that was deleted.' },
);

const Synced = Type.Object(
  { sync_token: Type.String({ description: 'The value of the header `Sync-Token`.' }) },
  { title: 'Synced', description: 'All changes up to this sync token have been sent.' },
);

/** An item of a change set. */
export const Change = Type.Union([Event, Forgotten, Deleted, Synced]);

export const StreamMessage = Type.Object(
  {
    event: Type.Optional(
      Type.Literal('synced', {
        description: 'After changes, and repeatedly while there are none. Absent for a change.',
      }),
    ),
    id: Type.Optional(Type.String({ description: 'Only with `synced`: the sync token.' })),
    data: Type.String({
      description: 'One line: an event, an erased user, a deleted event or, with `synced`, the sync token.',
      contentMediaType: 'application/json',
      contentSchema: Change,
    }),
  },
  { title: 'StreamMessage', description: 'The fields of a message of a live stream.' },
);

export const BoardOfVariantA = Type.Object(
  { id: Id('Board.'), title: BoardRef.properties.title },
  { title: 'Board' },
);

export const BoardOfVariantB = Type.Object(
  { id: Id('Board.'), title: BoardRef.properties.title, category: BoardRef.properties.category },
  { title: 'Board' },
);

export const UserOfVariantA = Type.Object(
  {
    id: Id('User.'),
    first_name: Type.String({ description: USER.first_name }),
    last_name: Type.String({ description: USER.last_name }),
    email: Person.properties.email,
  },
  { title: 'User' },
);

export const UserOfVariantB = Type.Object(
  {
    id: Id('User.'),
    email: Person.properties.email,
    role: Person.properties.role,
    name: Person.properties.name,
  },
  { title: 'User' },
);

const PointsRecord = Type.Object(
  {
    user_id: Id('User.'),
    board_id: Id('Board.'),
    email: Person.properties.email,
    total_points: Type.Integer({ minimum: 0 }),
    participation_score: Type.Integer({ minimum: 0 }),
  },
  { title: 'PointsRecord', description: 'Points of one user on one board.' },
);

export const PointsMap = Type.Object({}, { title: 'PointsMap', additionalProperties: PointsRecord });

export const Problem = Type.Object(
  {
    type: Type.String({ format: 'uri-reference', description: 'Identifies the kind of problem.' }),
    title: Type.String(),
    status: Type.Integer({ minimum: 400, maximum: 599 }),
    detail: Type.String({ description: 'What is wrong with this request, and what to do.' }),
    instance: Type.String({ format: 'uri-reference', description: 'Path of the request.' }),
    code: Type.Enum([...PROBLEM_CODES], {
      type: 'string',
      description: 'Stable name of the kind of problem, for programs. Later versions can have more.',
    }),
    request_id: Type.String({ description: 'Id of the request in the log of the server.' }),
  },
  { title: 'Problem', description: 'Problem document (RFC 9457).' },
);

export type Event = Static<typeof Event>;
export type Problem = Static<typeof Problem>;
