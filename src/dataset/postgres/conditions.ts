/**
 * SQL conditions of a question, as text, because they hold nothing but numbers. This is the one place where scope is
 * turned into what is read (decision 12).
 */
import type { EventQuery, Revisions, TimeRange } from '../query.ts';
import { type Scope, seesEveryEvent } from '../scope.ts';
import type { Asking } from './database.ts';
import { type At, rowsAt } from './schema.ts';

const TRUE = 'true';

/** The indices of visible boards as a subquery; absent when all are visible. */
function visibleBoards(at: At, scope: Scope): string | undefined {
  return scope.boards === 'all' ? undefined : `(${indicesOf(at, 'boards', scope.boards)})`;
}

/** The indices of visible people as a subquery; absent when all are visible. */
function visiblePeople(at: At, scope: Scope): string | undefined {
  if (scope.users === 'all') return undefined;
  if (scope.users !== 'of-boards') return `(${indicesOf(at, 'users', scope.users)})`;
  const boards = visibleBoards(at, scope);
  const where = boards === undefined ? TRUE : `board IN ${boards}`;
  return `(SELECT person FROM ${rowsAt(at, 'board_people')} WHERE ${where})`;
}

/** Whether the row of a board, or of a user, itself is one that the list names. */
export function isListed(ids: 'all' | readonly bigint[]): string {
  return ids === 'all' ? TRUE : `id = ANY('{${ids.join(',')}}'::bigint[])`;
}

function indicesOf(at: At, table: 'boards' | 'users', ids: readonly bigint[]): string {
  return `SELECT ix FROM ${rowsAt(at, table)} WHERE ${isListed(ids)}`;
}

/** Rows whose board and people, named by their columns, are visible. Columns are names in the code, never input. */
export function inScope(
  at: At,
  scope: Scope,
  columns: { board?: string; people?: readonly string[] },
): string {
  const boards = visibleBoards(at, scope);
  const people = visiblePeople(at, scope);
  const terms: string[] = [];
  if (boards !== undefined && columns.board !== undefined) terms.push(`${columns.board} IN ${boards}`);
  if (people !== undefined) for (const column of columns.people ?? []) terms.push(`${column} IN ${people}`);
  return allOf(...terms);
}

/** `[startMs, endMs)` on a column of instants (decision 5); a row without an instant is in no bounded range. */
export function inRange(range: TimeRange, column: string): string {
  const terms: string[] = [];
  if (range.startMs !== undefined) terms.push(`${column} >= ${int8(range.startMs)}`);
  if (range.endMs !== undefined) terms.push(`${column} < ${int8(range.endMs)}`);
  return allOf(...terms);
}

export function allOf(...sql: readonly string[]): string {
  const terms = sql.filter((term) => term !== TRUE);
  return terms.length === 0 ? TRUE : terms.map((term) => `(${term})`).join(' AND ');
}

/** What events may be seen by: indices of boards, and of people who act and own; absent: all. */
export interface VisibleEvents {
  readonly boards: readonly number[] | undefined;
  readonly people: readonly number[] | undefined;
}

/**
 * Scope as indices, which events are asked by: a condition of constants is looked up in a hash while an index gives the
 * events in their order; a join with the boards or users would have to sort what it finds. They are part of the version,
 * so asking for them apart leaves an answer one snapshot.
 */
export async function readVisible(database: Asking, at: At, scope: Scope): Promise<VisibleEvents> {
  const read = async (table: 'boards' | 'users', ids: readonly bigint[]) => {
    const indices: number[] = [];
    for await (const { columns } of database.columns(indicesOf(at, table, ids), ['int4'])) {
      indices.push(...columns[0]);
    }
    return indices;
  };
  return {
    boards: scope.boards === 'all' ? undefined : await read('boards', scope.boards),
    // With `of-boards` everybody in an event on a visible board is visible, so the board decides alone.
    people: typeof scope.users === 'string' ? undefined : await read('users', scope.users),
  };
}

/**
 * Users, or boards, in place of their table: with `created_ms` of the import, else of the first
 * event that the scope sees (decision 35).
 */
export async function withCreation(
  database: Asking,
  at: At,
  thing: 'user' | 'board',
  scope: Scope,
): Promise<string> {
  const things = `(SELECT ix, id, created_ms AS given_ms FROM ${rowsAt(at, `${thing}s`)}) things`;
  if (seesEveryEvent(scope)) {
    return `(SELECT ix, id, c.created_ms FROM ${things}
      JOIN (SELECT ix, created_ms FROM ${rowsAt(at, `${thing}_created`)}) c USING (ix)) created`;
  }
  const column = thing === 'user' ? 'actor' : 'board';
  const seen = ofEvents({ range: {} }, await readVisible(database, at, scope));
  return `(SELECT ix, id, coalesce(given_ms, first_ms) AS created_ms FROM ${things} LEFT JOIN (
      SELECT ${column} AS ix, min(timestamp_ms) AS first_ms FROM ${rowsAt(at, 'events')} WHERE ${seen} GROUP BY ${column}
    ) e USING (ix)) created`;
}

/** Everything an event query says but order and limit. */
export function ofEvents(query: Omit<EventQuery, 'limit' | 'scope'>, visible: VisibleEvents): string {
  const { range, pinsOnly, kinds, board, actor, after, since, upToSequence } = query;
  const terms = [isOneOf('board', visible.boards), inRange(range, 'timestamp_ms')];
  for (const column of ['actor', '"owner"']) terms.push(isOneOf(column, visible.people));
  if (pinsOnly === true) terms.push('pin IS NOT NULL');
  terms.push(isOneOf('kind', kinds));
  if (board !== undefined) terms.push(`board = ${BigInt(board)}`);
  if (actor !== undefined) terms.push(`actor = ${BigInt(actor)}`);
  if (after !== undefined) {
    const [instant, sequence] = [int8(after.timestampMs), int8(after.sequence)];
    // The first term says nothing new, but is the one by which the partitions before it are left out.
    terms.push(`timestamp_ms >= ${instant}`, `(timestamp_ms, sequence) > (${instant}, ${sequence})`);
  }
  if (since !== undefined) terms.push(changedSince(since));
  if (upToSequence !== undefined) terms.push(`sequence <= ${int8(upToSequence)}`);
  return allOf(...terms);
}

function changedSince({ sequence, people, boards, pins }: Revisions): string {
  const named = [
    isOneOf('actor', people),
    isOneOf('"owner"', people),
    isOneOf('board', boards),
    isOneOf('pin', pins),
  ];
  return [`sequence > ${int8(sequence)}`, ...named].map((term) => `(${term})`).join(' OR ');
}

function isOneOf(column: string, indices: readonly number[] | Int32Array | undefined): string {
  if (indices === undefined) return TRUE;
  // The planner knows what to make of this, but not of an empty list.
  if (indices.length === 0) return 'false';
  return `${column} = ANY('{${indices.join(',')}}'::int[])`;
}

/** An integer as SQL: quoted, because the sign of the smallest one would be taken for an operator. Throws for fractions. */
export function int8(value: number | bigint): string {
  return `'${BigInt(value)}'::bigint`;
}
