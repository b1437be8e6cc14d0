/** The expected response of every route, computed from the reference model. */
import type { TimeRange } from '../../src/dataset/query.ts';
import type { Scope } from '../../src/domain/scope.ts';
import type { Json } from './json.ts';
import type { Board, Event, Model, User } from './model.ts';
import { hasPoints, isInside, scoreOf } from './points-model.ts';
import { visibleBoards, visibleEvents, visibleUsers } from './scope-model.ts';

export type Variant = 'a' | 'b';

/** Every query that the routes of the contract accept. */
export type ParsedRequest =
  | { readonly route: 'events' }
  | { readonly route: 'events of a board'; readonly id: bigint }
  | { readonly route: 'events with pins' }
  | { readonly route: 'events of a user'; readonly id: bigint }
  | { readonly route: 'boards' }
  | { readonly route: 'users' }
  | { readonly route: 'points of a board'; readonly by: 'id' | 'lti' | 'course'; readonly name: string }
  | { readonly route: 'points of a user'; readonly id: bigint; readonly keyedBy: 'user' | 'board' }
  | {
      readonly route: 'points of an LMS user';
      readonly property: string;
      readonly value: string;
      readonly keyedBy: 'user' | 'board';
    };

/**
 * The path of a query below the base, without query parameters; `undefined` if the variant has no
 * such route.
 */
export function pathOf(variant: Variant, question: ParsedRequest): string | undefined {
  const events = variant === 'a' ? '/v1/events' : '/v1';
  switch (question.route) {
    case 'events':
    case 'boards':
    case 'users':
      return `/v1/${question.route}`;
    case 'events of a board':
      return `${events}/board/${question.id}`;
    case 'events with pins':
      return `${events}/pins`;
    case 'events of a user':
      return `${events}/user/${question.id}`;
    default:
      return variant === 'a' ? pathOfPoints(question) : undefined;
  }
}

function pathOfPoints(question: Extract<ParsedRequest, { route: `points ${string}` }>): string {
  if (question.route === 'points of a board') {
    const folder = { id: 'board', lti: 'lti', course: 'course' }[question.by];
    return `/v1/${folder}/${encodeURIComponent(question.name)}/points`;
  }
  if (question.route === 'points of a user') return `/v1/user/${question.id}/points`;
  const [property, value] = [encodeURIComponent(question.property), encodeURIComponent(question.value)];
  return `/v1/lms_user/${property}/${value}/points`;
}

/** The expected body as a JSON value, or the code of the expected 404. */
export function answerTo(
  model: Model,
  scope: Scope,
  variant: Variant,
  question: ParsedRequest,
  range: TimeRange,
): Json | 'not-found' | 'lookup-not-configured' {
  switch (question.route) {
    case 'events':
      return eventsOf(model, scope, range, () => true);
    case 'events with pins':
      return eventsOf(model, scope, range, (event) => event.type === 'pin');
    case 'events of a board':
      if (!visibleBoards(model, scope).some((board) => board.id === question.id)) return 'not-found';
      return eventsOf(model, scope, range, (event) => event.boardId === question.id);
    case 'events of a user':
      if (!visibleUsers(model, scope).some((user) => user.id === question.id)) return 'not-found';
      return eventsOf(model, scope, range, (event) => event.actorId === question.id);
    case 'boards':
      return visibleBoards(model, scope)
        .filter((board) => wasCreatedInside(createdMsOfBoard(model, scope, board), range))
        .map(({ id, title, category }) => (variant === 'a' ? { id, title } : { id, title, category }));
    case 'users':
      return visibleUsers(model, scope)
        .filter((user) => wasCreatedInside(createdMsOfUser(model, scope, user), range))
        .map((user) => renderUser(variant, user));
    case 'points of a board': {
      if (question.by === 'course' && !model.settings.courseLookup) return 'lookup-not-configured';
      const board = visibleBoards(model, scope).find((one) => nameOf(one, question.by) === question.name);
      return board === undefined ? 'not-found' : pointsOfBoard(model, scope, board, range);
    }
    case 'points of a user': {
      const user = visibleUsers(model, scope).find((one) => one.id === question.id);
      return user === undefined ? 'not-found' : pointsOfUser(model, scope, user, range, question.keyedBy);
    }
    case 'points of an LMS user': {
      const { property, value } = question;
      if (!model.settings.lmsUserProperties.includes(property)) return 'lookup-not-configured';
      const user = visibleUsers(model, scope).find((one) => one.lms[property] === value);
      return user === undefined ? 'not-found' : pointsOfUser(model, scope, user, range, question.keyedBy);
    }
  }
}

function nameOf(board: Board, by: 'id' | 'lti' | 'course'): string {
  return { id: String(board.id), lti: board.ltiId, course: board.courseId }[by];
}

/** Decision 35: without a date of its own, the first event that is visible in the scope. */
function createdMsOfUser(model: Model, scope: Scope, user: User): number | undefined {
  return (
    user.createdMs ?? visibleEvents(model, scope).find(({ actorId }) => actorId === user.id)?.timestampMs
  );
}

function createdMsOfBoard(model: Model, scope: Scope, board: Board): number | undefined {
  return (
    board.createdMs ?? visibleEvents(model, scope).find(({ boardId }) => boardId === board.id)?.timestampMs
  );
}

function wasCreatedInside(createdMs: number | undefined, range: TimeRange): boolean {
  if (range.startMs === undefined && range.endMs === undefined) return true;
  return createdMs !== undefined && isInside(createdMs, range);
}

function eventsOf(model: Model, scope: Scope, range: TimeRange, wanted: (event: Event) => boolean): Json {
  return visibleEvents(model, scope)
    .filter((event) => wanted(event) && isInside(event.timestampMs, range))
    .map((event) => renderEvent(model, event));
}

/** One event as in the contract (2.1), with members in the order of its table. */
export function renderEvent(model: Model, event: Event): Json {
  const board = model.boards.find((one) => one.id === event.boardId);
  const pin = event.type === 'pin' ? model.pins.find((one) => one.id === event.pinId) : undefined;
  return {
    type: event.type,
    action: event.action,
    owner: renderPerson(model, event.ownerId),
    actor: renderPerson(model, event.actorId),
    organization: {
      id: model.settings.id,
      name: model.settings.title,
      domain: model.settings.domain,
      category_id: model.settings.categoryId,
    },
    pin:
      pin === undefined
        ? undefined
        : {
            id: pin.id,
            activity: event.action,
            title: pin.title,
            body: pin.body,
            web_url: pin.webUrl,
            image_url: pin.imageUrl,
            tags: pin.tags,
          },
    board: { id: event.boardId, title: board?.title, category: board?.category },
    timestamp: new Date(event.timestampMs).toISOString().replace('Z', '+00:00'),
  };
}

function renderPerson(model: Model, id: bigint): Json {
  const user = model.users.find((one) => one.id === id);
  return { id, email: user?.email, name: user?.name, role: user?.role, class_role: user?.classRole };
}

function renderUser(variant: Variant, user: User): Json {
  const { id, email, role, name } = user;
  if (variant === 'b') return { id, email, role, name };
  return { id, first_name: user.firstName, last_name: user.lastName, email };
}

function pointsOfBoard(model: Model, scope: Scope, board: Board, range: TimeRange): Json {
  const users = isNothing(range) ? [] : visibleUsers(model, scope);
  return new Map(
    users
      .filter((user) => hasPoints(model, user, board))
      .map((user) => [user.email, renderPoints(model, scope, user, board, range)]),
  );
}

/**
 * Decision 8: the first record has the user's id as its name, further ones `user:board`. If the
 * request or the organization selects it, all records have their board ids as names.
 */
function pointsOfUser(
  model: Model,
  scope: Scope,
  user: User,
  range: TimeRange,
  keyedBy: 'user' | 'board',
): Json {
  const boards = isNothing(range) ? [] : visibleBoards(model, scope);
  return new Map(
    boards
      .filter((board) => hasPoints(model, user, board))
      .map((board, index) => {
        const byUser = index === 0 ? `${user.id}` : `${user.id}:${board.id}`;
        const isByUser = keyedBy === 'user' && model.settings.userPointsKey !== 'board-id';
        return [isByUser ? byUser : `${board.id}`, renderPoints(model, scope, user, board, range)];
      }),
  );
}

/** The rows of `/insights/v1/points` (decision 93), or `not-found`. */
export function pointsRowsOf(
  model: Model,
  scope: Scope,
  range: TimeRange,
  asked: { readonly board?: bigint | undefined; readonly user?: bigint | undefined } = {},
): readonly Json[] | 'not-found' {
  const boards = named(visibleBoards(model, scope), asked.board);
  const users = named(visibleUsers(model, scope), asked.user);
  if (boards === undefined || users === undefined) return 'not-found';
  return (isNothing(range) ? [] : boards).flatMap((board) =>
    users
      .filter((user) => hasPoints(model, user, board))
      .map((user) => {
        const { total, score } = scoreOf(model, scope, user.id, board.id, range);
        return {
          ...{ user_id: user.id, email: user.email, name: user.name },
          ...{ board_id: board.id, board_title: board.title },
          ...{ total_points: total, participation_score: score },
        };
      }),
  );
}

/** All records, or the one with an id; undefined if there is none. */
function named<T extends { readonly id: bigint }>(
  records: readonly T[],
  id: bigint | undefined,
): readonly T[] | undefined {
  if (id === undefined) return records;
  const found = records.filter((record) => record.id === id);
  return found.length === 0 ? undefined : found;
}

/** A range that begins where it ends is empty (decision 5). */
function isNothing(range: TimeRange): boolean {
  return range.startMs !== undefined && range.startMs === range.endMs;
}

function renderPoints(model: Model, scope: Scope, user: User, board: Board, range: TimeRange): Json {
  const { total, score } = scoreOf(model, scope, user.id, board.id, range);
  return {
    user_id: user.id,
    board_id: board.id,
    email: user.email,
    total_points: total,
    participation_score: score,
  };
}
