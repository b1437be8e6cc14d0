/**
 * The columns in which records are staged: one for each field, under the names that the import gives them. Every
 * store stages the same ones, in this order.
 */
import type { RecordKind, RecordOf } from './staging.ts';

/** What a field holds: a whole number, a text, or nothing. */
export type Cell = bigint | number | string | undefined;

export interface Column<R> {
  readonly type: 'BIGINT' | 'TEXT';
  readonly value: (record: R) => Cell;
}

export type Columns<R> = Readonly<Record<string, Column<R>>>;

function whole<R>(value: (record: R) => bigint | number | undefined): Column<R> {
  return { type: 'BIGINT', value };
}

function words<R>(value: (record: R) => string | undefined): Column<R> {
  return { type: 'TEXT', value };
}

export const STAGED: { readonly [K in RecordKind]: Columns<RecordOf[K]> } = {
  users: {
    id: whole((user) => user.id),
    email: words((user) => user.email),
    name: words((user) => user.name),
    first_name: words((user) => user.firstName),
    last_name: words((user) => user.lastName),
    role: words((user) => user.role),
    class_role: words((user) => user.classRole),
    created_ms: whole((user) => user.createdMs),
    lms: words((user) => user.lms && JSON.stringify(user.lms)),
    forgotten: whole((user) => user.forgotten && 1),
  },
  boards: {
    id: whole((board) => board.id),
    title: words((board) => board.title),
    category: words((board) => board.category),
    lti_id: words((board) => board.ltiId),
    course_id: words((board) => board.courseId),
    created_ms: whole((board) => board.createdMs),
  },
  pins: {
    id: whole((pin) => pin.id),
    board_id: whole((pin) => pin.boardId),
    owner_id: whole((pin) => pin.ownerId),
    title: words((pin) => pin.title),
    body: words((pin) => pin.body),
    web_url: words((pin) => pin.webUrl),
    image_url: words((pin) => pin.imageUrl),
    tags: words((pin) => pin.tags && JSON.stringify(pin.tags)),
    created_ms: whole((pin) => pin.createdMs),
  },
  memberships: {
    board_id: whole((membership) => membership.boardId),
    user_id: whole((membership) => membership.userId),
  },
  events: {
    id: whole((event) => event.id),
    type: words((event) => event.type),
    action: words((event) => event.action),
    owner_id: whole((event) => event.ownerId),
    actor_id: whole((event) => event.actorId),
    board_id: whole((event) => event.boardId),
    pin_id: whole((event) => event.pinId),
    timestamp_ms: whole((event) => event.timestampMs),
  },
  points: {
    user_id: whole((points) => points.userId),
    board_id: whole((points) => points.boardId),
    total_points: whole((points) => points.totalPoints),
    participation_score: whole((points) => points.participationScore),
  },
  adjustments: {
    user_id: whole((adjustment) => adjustment.userId),
    board_id: whole((adjustment) => adjustment.boardId),
    points: whole((adjustment) => adjustment.points),
    timestamp_ms: whole((adjustment) => adjustment.timestampMs),
    reason: words((adjustment) => adjustment.reason),
  },
};
