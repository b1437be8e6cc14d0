/**
 * The resources of the contract (section 2), and the documents that Corkboard adds, as schemas: the
 * source of the OpenAPI documents and of the types of the client. A schema with a `title` becomes a
 * component.
 */
import { type Static, Type } from 'typebox';
import { PROBLEM_CODES } from '../../domain/app-error.ts';

const Id = (description: string) =>
  Type.Integer({ format: 'int64', description: `${description} Can exceed 2^53: keep all digits.` });

const Person = Type.Object(
  {
    id: Id('User identifier.'),
    email: Type.String({ description: 'E-mail address of the user, or a stable pseudonym.' }),
    name: Type.String({ description: 'Display name, or a stable pseudonym.' }),
    role: Type.String({ description: 'Platform role.', examples: ['coadmin', 'user'] }),
    class_role: Type.String({ description: 'Role in a class.', examples: ['instructor'] }),
  },
  { title: 'Person', description: 'Owner or actor of an event.', additionalProperties: false },
);

export const Organization = Type.Object(
  { id: Id('Organization.'), name: Type.String(), domain: Type.String(), category_id: Id('Category.') },
  { title: 'Organization', additionalProperties: false },
);

const Pin = Type.Object(
  {
    id: Id('Pin.'),
    activity: Type.String({ description: 'Repeats the action of the event.' }),
    title: Type.String(),
    body: Type.String({ description: 'Text of the pin.' }),
    web_url: Type.String({ description: 'URL of the linked web page.' }),
    image_url: Type.String({ description: 'URL of an image.' }),
    tags: Type.Array(Type.String()),
  },
  { title: 'Pin', additionalProperties: false },
);

const BoardRef = Type.Object(
  { id: Id('Board.'), title: Type.String(), category: Type.String() },
  { title: 'BoardRef', additionalProperties: false },
);

const ABOUT_EVENT = {
  action: Type.String({ description: 'What the actor did.', examples: ['visited', 'followed'] }),
  owner: Person,
  actor: Person,
  organization: Organization,
  board: BoardRef,
  timestamp: Type.String({
    format: 'date-time',
    pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}\\+00:00$',
  }),
  sync_id: Type.Optional(
    Type.String({
      description: 'Only with `since`: identifies the event, even if its other members change.',
    }),
  ),
};

export const Forgotten = Type.Object(
  { forgotten: Type.Object({ user: Id('User identifier.') }, { additionalProperties: false }) },
  {
    title: 'Forgotten',
    description: 'Only with `since`: an erased user. Delete all events whose actor has this id.',
    additionalProperties: false,
  },
);

const PinEvent = Type.Object(
  { type: Type.Literal('pin'), ...ABOUT_EVENT, pin: Pin },
  { title: 'PinEvent', description: 'An event on a pin.', additionalProperties: false },
);

const OtherEvent = Type.Object(
  {
    type: Type.String({
      description: 'Kind of object acted on.',
      examples: ['board'],
      not: { const: 'pin' },
    }),
    ...ABOUT_EVENT,
  },
  { title: 'OtherEvent', description: 'An event on any other object.', additionalProperties: false },
);

export const Event = Type.Union([PinEvent, OtherEvent], {
  title: 'Event',
  description: 'An event. It has `pin` if and only if its type is `pin`.',
});

export const BoardOfVariantA = Type.Object(
  { id: Id('Board.'), title: Type.String() },
  { title: 'Board', additionalProperties: false },
);

export const BoardOfVariantB = Type.Object(
  { id: Id('Board.'), title: Type.String(), category: Type.String() },
  { title: 'Board', additionalProperties: false },
);

export const UserOfVariantA = Type.Object(
  { id: Id('User.'), first_name: Type.String(), last_name: Type.String(), email: Type.String() },
  { title: 'User', additionalProperties: false },
);

export const UserOfVariantB = Type.Object(
  { id: Id('User.'), email: Type.String(), role: Type.String(), name: Type.String() },
  { title: 'User', additionalProperties: false },
);

const PointsRecord = Type.Object(
  {
    user_id: Id('User.'),
    board_id: Id('Board.'),
    email: Type.String(),
    total_points: Type.Integer({ minimum: 0 }),
    participation_score: Type.Integer({ minimum: 0 }),
  },
  { title: 'PointsRecord', description: 'Points of one user on one board.', additionalProperties: false },
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
