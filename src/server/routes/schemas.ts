/**
 * The resources of the contract (section 2), and the documents that Corkboard adds, as schemas: the
 * source of the OpenAPI documents and of the types of the client. A schema with a `title` becomes a
 * component.
 */
import { type Static, Type } from 'typebox';

const Id = (description: string) =>
  Type.Integer({ format: 'int64', description: `${description} All digits count, also above 2^53.` });

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
  action: Type.String({ description: 'What was done.', examples: ['visited', 'followed'] }),
  owner: Person,
  actor: Person,
  organization: Organization,
  board: BoardRef,
  timestamp: Type.String({
    format: 'date-time',
    pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}\\+00:00$',
  }),
  sync_id: Type.Optional(
    Type.String({ description: 'Only with `since`: names the event, whatever else of it changes.' }),
  ),
};

export const Forgotten = Type.Object(
  { forgotten: Type.Object({ user: Id('User identifier.') }, { additionalProperties: false }) },
  {
    title: 'Forgotten',
    description: 'Only with `since`: a person who was forgotten. All events go whose actor this is.',
    additionalProperties: false,
  },
);

const PinEvent = Type.Object(
  { type: Type.Literal('pin'), ...ABOUT_EVENT, pin: Pin },
  { title: 'PinEvent', description: 'An interaction with a pin.', additionalProperties: false },
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
  { title: 'OtherEvent', description: 'An interaction with anything else.', additionalProperties: false },
);

export const Event = Type.Union([PinEvent, OtherEvent], {
  title: 'Event',
  description: 'An interaction. It carries `pin` exactly when its type is `pin`.',
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
    type: Type.String({ format: 'uri-reference', description: 'Names the kind of problem.' }),
    title: Type.String(),
    status: Type.Integer({ minimum: 400, maximum: 599 }),
    detail: Type.String({ description: 'What is wrong with this request, and what to do.' }),
    instance: Type.String({ format: 'uri-reference', description: 'Path of the request.' }),
    code: Type.String({ description: 'Stable name of the kind of problem, for programs.' }),
    request_id: Type.String({ description: 'Under this id the operator finds the request in the log.' }),
  },
  { title: 'Problem', description: 'Problem document (RFC 9457).' },
);

export type Event = Static<typeof Event>;
export type Problem = Static<typeof Problem>;
