/**
 * The reference model of an organization: arrays of plain objects, slow and simple. It implements
 * imports (decisions 28, 29); `answers.ts` computes responses from it.
 */
import type { AdjustmentInput, Bundle, EventInput, PinInput, UserInput } from './bundle.ts';
import type { PolicyInput } from './points-model.ts';

export interface User {
  readonly id: bigint;
  readonly email: string;
  readonly name: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly role: string;
  readonly classRole: string;
  readonly createdMs: number | undefined;
  readonly lms: Readonly<Record<string, string>>;
  readonly forgotten: boolean;
}

export interface Board {
  readonly id: bigint;
  readonly title: string;
  readonly category: string;
  readonly ltiId: string;
  readonly courseId: string;
  readonly createdMs: number | undefined;
}

export interface Pin {
  readonly id: bigint;
  readonly boardId: bigint;
  readonly ownerId: bigint;
  readonly title: string;
  readonly body: string;
  readonly webUrl: string;
  readonly imageUrl: string;
  readonly tags: readonly string[];
}

export interface Event {
  readonly id: bigint | undefined;
  readonly type: string;
  readonly action: string;
  readonly ownerId: bigint;
  readonly actorId: bigint;
  readonly boardId: bigint;
  readonly pinId: bigint | undefined;
  readonly timestampMs: number;
  /** Never empty. */
  readonly body: string | undefined;
  /** The same object wherever the event is, whatever its body. */
  readonly identity: object;
}

export interface ImportedPoints {
  readonly userId: bigint;
  readonly boardId: bigint;
  readonly totalPoints: number;
  readonly participationScore: number;
}

export interface Adjustment {
  readonly userId: bigint;
  readonly boardId: bigint;
  readonly points: number;
  readonly timestampMs: number;
  readonly reason: string;
}

export interface ModelSettings {
  readonly id: bigint;
  readonly title: string;
  readonly domain: string;
  readonly categoryId: bigint;
  readonly courseLookup: boolean;
  readonly lmsUserProperties: readonly string[];
  /** Absent: `user-id`. */
  readonly userPointsKey?: 'user-id' | 'board-id';
  /** Absent: the default policy. */
  readonly policy: PolicyInput | undefined;
}

/** All data of one organization. Events and adjustments are in the order of their import. */
export interface Model {
  readonly settings: ModelSettings;
  readonly users: readonly User[];
  readonly boards: readonly Board[];
  readonly pins: readonly Pin[];
  readonly events: readonly Event[];
  readonly members: readonly { readonly boardId: bigint; readonly userId: bigint }[];
  readonly points: readonly ImportedPoints[];
  readonly adjustments: readonly Adjustment[];
}

export function emptyModel(settings: ModelSettings): Model {
  return { settings, users: [], boards: [], pins: [], events: [], members: [], points: [], adjustments: [] };
}

/**
 * The model after one import. Forgotten users are erased before anything is added (decision 54).
 */
export function absorb(model: Model, bundle: Bundle): Model {
  const inputs = bundle.users.filter(({ forgotten }) => forgotten === true).map(({ id }) => id);
  const erased = forget(model, inputs);
  const gone = new Set(erased.users.filter(({ forgotten }) => forgotten).map(({ id }) => id));
  return absorbKnown(erased, {
    ...bundle,
    users: bundle.users.filter(({ id }) => !gone.has(id)),
    memberships: bundle.memberships.filter((input) => !gone.has(input.user_id)),
    events: bundle.events.filter((input) => !gone.has(input.actor_id)),
    points: bundle.points.filter((input) => !gone.has(input.user_id)),
    adjustments: bundle.adjustments.filter((input) => !gone.has(input.user_id)),
  });
}

/** Removes all data of these users; their ids stay. */
function forget(model: Model, ids: readonly bigint[]): Model {
  const isLeft = ({ userId }: { readonly userId: bigint }) => !ids.includes(userId);
  return {
    ...model,
    users: ids.reduce<readonly User[]>((users, id) => replace(users, unknownUser(id)), model.users),
    events: model.events.filter(({ actorId }) => !ids.includes(actorId)),
    members: model.members.filter(isLeft),
    points: model.points.filter(isLeft),
    adjustments: model.adjustments.filter(isLeft),
  };
}

function unknownUser(id: bigint): User {
  return {
    id,
    email: `user-${id}@forgotten.invalid`,
    name: 'Forgotten',
    firstName: 'Forgotten',
    lastName: '',
    role: 'user',
    classRole: '',
    createdMs: undefined,
    lms: {},
    forgotten: true,
  };
}

function absorbKnown(model: Model, bundle: Bundle): Model {
  return {
    settings: model.settings,
    users: bundle.users.reduce((users, input) => replace(users, mergeUser(users, input)), model.users),
    boards: bundle.boards.reduce((boards, input) => {
      const old = boards.find((board) => board.id === input.id);
      const board: Board = {
        id: input.id,
        title: input.title,
        category: input.category ?? old?.category ?? '',
        ltiId: input.lti_id ?? old?.ltiId ?? '',
        courseId: input.course_id ?? old?.courseId ?? '',
        createdMs: readTime(input.created_at) ?? old?.createdMs,
      };
      return replace(boards, board);
    }, model.boards),
    pins: bundle.pins.reduce((pins, input) => replace(pins, mergePin(pins, input)), model.pins),
    events: absorbEvents(model.events, bundle.events),
    members: [
      ...model.members,
      ...bundle.memberships.map((input) => ({ boardId: input.board_id, userId: input.user_id })),
    ],
    points: bundle.points.reduce(
      (points, input) => [
        ...points.filter((old) => old.userId !== input.user_id || old.boardId !== input.board_id),
        {
          userId: input.user_id,
          boardId: input.board_id,
          totalPoints: input.total_points,
          participationScore: input.participation_score,
        },
      ],
      model.points,
    ),
    adjustments: absorbRepeats(model.adjustments, bundle.adjustments.map(adjustmentOf)),
  };
}

function replace<T extends { readonly id: bigint }>(all: readonly T[], one: T): readonly T[] {
  return [...all.filter((other) => other.id !== one.id), one];
}

function readTime(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Date.parse(text);
}

function mergeUser(users: readonly User[], input: UserInput): User {
  const old = users.find((user) => user.id === input.id);
  const isInHalves = input.first_name !== undefined || input.last_name !== undefined;
  const cut = input.name?.lastIndexOf(' ') ?? -1;
  // A whole name is split. If only one half is given, the other keeps its value.
  const split = [
    input.name?.slice(0, cut === -1 ? undefined : cut),
    cut === -1 ? '' : input.name?.slice(cut + 1),
  ];
  const firstName = isInHalves ? (input.first_name ?? old?.firstName ?? '') : (split[0] ?? '');
  const lastName = isInHalves ? (input.last_name ?? old?.lastName ?? '') : (split[1] ?? '');
  return {
    id: input.id,
    email: input.email,
    name: input.name ?? [firstName, lastName].filter((half) => half !== '').join(' '),
    firstName,
    lastName,
    role: input.role ?? old?.role ?? 'user',
    classRole: input.class_role ?? old?.classRole ?? '',
    createdMs: readTime(input.created_at) ?? old?.createdMs,
    forgotten: false,
    lms: Object.fromEntries(
      Object.entries({ ...old?.lms, ...input.lms }).filter(([, value]) => value !== ''),
    ),
  };
}

function mergePin(pins: readonly Pin[], input: PinInput): Pin {
  const old = pins.find((pin) => pin.id === input.id);
  return {
    id: input.id,
    boardId: input.board_id,
    ownerId: input.owner_id,
    title: input.title,
    body: input.body ?? old?.body ?? '',
    webUrl: input.web_url ?? old?.webUrl ?? '',
    imageUrl: input.image_url ?? old?.imageUrl ?? '',
    tags: input.tags ?? old?.tags ?? [],
  };
}

/**
 * An event with an id is skipped if the model has an event with that id, whose fields stay, except
 * that a body of the same actor replaces its body. The n-th identical event without an id in one
 * import is skipped if the model had at least n of them before (decision 29).
 */
function absorbEvents(known: readonly Event[], inputs: readonly EventInput[]): readonly Event[] {
  const events = [...known];
  const repeats = new Map<string, number>();
  for (const input of inputs) {
    const event = eventOf(input);
    if (event.id !== undefined) {
      const place = events.findIndex((other) => other.id === event.id);
      if (place === -1) events.push(event);
      else if (events[place]!.actorId === event.actorId) {
        events[place] = { ...events[place]!, body: event.body ?? events[place]!.body };
      }
      continue;
    }
    const repeat = (repeats.get(fieldsOf(event)) ?? 0) + 1;
    repeats.set(fieldsOf(event), repeat);
    const before = known.filter((other) => fieldsOf(other) === fieldsOf(event)).length;
    if (repeat > before) events.push(event);
  }
  return events;
}

export function eventOf(input: EventInput): Event {
  return {
    id: input.id,
    type: input.type,
    action: input.action,
    ownerId: input.owner_id,
    actorId: input.actor_id,
    boardId: input.board_id,
    pinId: input.pin_id,
    timestampMs: Date.parse(input.timestamp),
    body: input.body || undefined,
    identity: {},
  };
}

export function adjustmentOf(input: AdjustmentInput): Adjustment {
  return {
    userId: input.user_id,
    boardId: input.board_id,
    points: input.points,
    timestampMs: Date.parse(input.timestamp),
    reason: input.reason,
  };
}

function absorbRepeats(known: readonly Adjustment[], inputs: readonly Adjustment[]): readonly Adjustment[] {
  const all = [...known];
  const repeats = new Map<string, number>();
  for (const input of inputs) {
    const repeat = (repeats.get(fieldsOf(input)) ?? 0) + 1;
    repeats.set(fieldsOf(input), repeat);
    if (repeat > known.filter((other) => fieldsOf(other) === fieldsOf(input)).length) all.push(input);
  }
  return all;
}

/** All fields by which a record without an id is identified, as one text. */
export function fieldsOf(record: object): string {
  return Object.entries(record)
    .filter(([name]) => !['id', 'body', 'identity'].includes(name))
    .map(([name, value]) => `${name}=${value}`)
    .join('\n');
}
