/**
 * SQL conditions of a query. This is the only place where the scope is applied to stored data
 * (decision 12).
 */
import type { EventQuery, ListKind, Revisions, TimeRange } from '../../../dataset/query.ts';
import { type Scope, seesEveryEvent } from '../../../domain/scope.ts';
import type { StatementParameters } from '../database.ts';

export interface Condition {
  readonly sql: string;
  readonly parameters: StatementParameters;
}

/** The indices of visible boards as a subquery; absent when all are visible. */
function visibleBoards(scope: Scope): string | undefined {
  return scope.boards === 'all'
    ? undefined
    : '(SELECT ix FROM boards WHERE id IN (SELECT unnest($scopeBoards)))';
}

/** The indices of visible users as a subquery; absent when all are visible. */
function visiblePeople(scope: Scope): string | undefined {
  if (scope.users === 'all') return undefined;
  if (scope.users !== 'of-boards') return '(SELECT ix FROM users WHERE id IN (SELECT unnest($scopeUsers)))';
  const boards = visibleBoards(scope);
  return `(SELECT person FROM board_people${boards === undefined ? '' : ` WHERE board IN ${boards}`})`;
}

/** The indices of visible boards or users as a subquery; absent when all are visible. */
export function visibleOf(things: 'boards' | 'people', scope: Scope): Condition | undefined {
  const sql = things === 'boards' ? visibleBoards(scope) : visiblePeople(scope);
  return sql === undefined ? undefined : { sql, parameters: usedIn(sql, scope) };
}

function usedIn(sql: string, scope: Scope): StatementParameters {
  const used = Object.entries(scopeParameters(scope)).filter(([name]) => sql.includes(`$${name}`));
  return Object.fromEntries(used);
}

function scopeParameters(scope: Scope): StatementParameters {
  return {
    ...(scope.boards === 'all' ? {} : { scopeBoards: scope.boards }),
    ...(typeof scope.users === 'string' ? {} : { scopeUsers: scope.users }),
  };
}

/**
 * Rows whose board and users, in the given columns, are visible. Columns are names in the code,
 * never input.
 */
export function inScope(scope: Scope, columns: { board?: string; people?: readonly string[] }): Condition {
  const boards = visibleBoards(scope);
  const people = visiblePeople(scope);
  const terms: string[] = [];
  if (boards !== undefined && columns.board !== undefined) terms.push(`${columns.board} IN ${boards}`);
  if (people !== undefined) for (const column of columns.people ?? []) terms.push(`${column} IN ${people}`);
  const sql = terms.length === 0 ? 'true' : terms.join(' AND ');
  return { sql, parameters: usedIn(sql, scope) };
}

/**
 * `[startMs, endMs)` on a column of instants (decision 5). A row without an instant is in no
 * bounded range.
 */
export function inRange(range: TimeRange, column: string): Condition {
  const terms: string[] = [];
  if (range.startMs !== undefined) terms.push(`${column} >= $startMs`);
  if (range.endMs !== undefined) terms.push(`${column} < $endMs`);
  return {
    sql: terms.length === 0 ? 'true' : terms.join(' AND '),
    parameters: {
      ...(range.startMs === undefined ? {} : { startMs: BigInt(range.startMs) }),
      ...(range.endMs === undefined ? {} : { endMs: BigInt(range.endMs) }),
    },
  };
}

/** The complement of `inRange`, with its parameters; false if the range is not bounded. */
export function outOfRange({ startMs, endMs }: TimeRange, column: string): string {
  const terms = [
    ...(startMs === undefined ? [] : [`${column} < $startMs`]),
    ...(endMs === undefined ? [] : [`${column} >= $endMs`]),
  ];
  return terms.length === 0 ? 'false' : terms.join(' OR ');
}

export function allOf(...conditions: readonly Condition[]): Condition {
  const terms = conditions.map(({ sql }) => sql).filter((sql) => sql !== 'true');
  return {
    sql: terms.length === 0 ? 'true' : terms.map((term) => `(${term})`).join(' AND '),
    parameters: Object.assign({}, ...conditions.map(({ parameters }) => parameters)),
  };
}

function isOneOf(column: string, indices: readonly number[]): string {
  return indices.length === 0
    ? 'false'
    : `${column} IN (${indices.map((index) => BigInt(index)).join(', ')})`;
}

function changedSince({ sequence, clock, people, boards, pins }: Revisions): Condition {
  // A term that matches no row would prevent DuckDB from skipping earlier rows.
  const among = (columns: readonly string[], table: string, indices: Int32Array, revised = 'revised') =>
    indices.length === 0
      ? []
      : columns.map((column) => `${column} IN (SELECT ix FROM ${table} WHERE ${revised} > $since)`);
  const terms = [
    'sequence > $since',
    ...among(['actor', '"owner"'], 'users', people, clock),
    ...among(['board'], 'boards', boards),
    ...among(['pin'], 'pins', pins),
  ];
  return { sql: terms.join(' OR '), parameters: { since: BigInt(sequence) } };
}

/** All conditions of an event query except order and limit. */
export function ofEvents(query: Omit<EventQuery, 'limit'>): Condition {
  // With `of-boards`, the board suffices: all users in events on visible boards are visible.
  const people = query.scope.users === 'of-boards' ? [] : ['actor', '"owner"'];
  const terms: Condition[] = [
    inScope(query.scope, { board: 'board', people }),
    inRange(query.range, 'timestamp_ms'),
  ];
  if (query.pinsOnly === true) terms.push({ sql: 'pin IS NOT NULL', parameters: {} });
  // Integers from the code, not input.
  if (query.kinds !== undefined) terms.push({ sql: isOneOf('kind', query.kinds), parameters: {} });
  if (query.board !== undefined)
    terms.push({ sql: 'board = $board', parameters: { board: BigInt(query.board) } });
  if (query.actor !== undefined)
    terms.push({ sql: 'actor = $actor', parameters: { actor: BigInt(query.actor) } });
  if (query.after !== undefined) {
    terms.push({
      // The first term is implied by the second, but lets DuckDB skip earlier rows.
      sql: 'timestamp_ms >= $afterMs AND (timestamp_ms > $afterMs OR sequence > $afterSequence)',
      parameters: { afterMs: BigInt(query.after.timestampMs), afterSequence: BigInt(query.after.sequence) },
    });
  }
  if (query.since !== undefined) terms.push(changedSince(query.since));
  if (query.upToSequence !== undefined) {
    terms.push({ sql: 'sequence <= $upTo', parameters: { upTo: BigInt(query.upToSequence) } });
  }
  return allOf(...terms);
}

/** The conditions of an event query on deleted events, which have ids in place of indices. */
export function ofDeletedEvents({
  scope,
  range,
  pinsOnly,
  board,
  actor,
}: Omit<EventQuery, 'limit'>): Condition {
  const terms: Condition[] = [inRange(range, 'timestamp_ms')];
  const inIds = (column: string, ids: string) => {
    const sql = `${column} IN (SELECT unnest($${ids}))`;
    terms.push({ sql, parameters: usedIn(sql, scope) });
  };
  if (scope.boards !== 'all') inIds('board_id', 'scopeBoards');
  // With `of-boards`, the board suffices, as for other events.
  if (typeof scope.users !== 'string')
    for (const column of ['actor_id', 'owner_id']) inIds(column, 'scopeUsers');
  if (pinsOnly === true) terms.push({ sql: 'has_pin', parameters: {} });
  for (const [table, column, index] of [
    ['boards', 'board_id', board],
    ['users', 'actor_id', actor],
  ] as const) {
    if (index === undefined) continue;
    const sql = `${column} = (SELECT id FROM ${table} WHERE ix = $${column})`;
    terms.push({ sql, parameters: { [column]: BigInt(index) } });
  }
  return allOf(...terms);
}

/**
 * Users or boards in place of their table. `created_ms` is the time from the import, or else that
 * of the first event that is visible in the scope (decision 35).
 */
export function withCreation(of: ListKind, scope: Scope): Condition {
  if (seesEveryEvent(scope)) {
    const created = of === 'users' ? 'user_created' : 'board_created';
    const sql = `(SELECT t.ix, t.id, c.created_ms FROM ${of} t JOIN ${created} c ON c.ix = t.ix)`;
    return { sql, parameters: {} };
  }
  const column = of === 'users' ? 'actor' : 'board';
  const seen = ofEvents({ scope, range: {} });
  // If the scope lists boards, their events are contiguous in `board_events`.
  const events = scope.boards === 'all' ? 'events' : 'board_events';
  const sql = `(
    SELECT t.ix, t.id, coalesce(t.created_ms, e.first_ms) AS created_ms FROM ${of} t LEFT JOIN (
      SELECT ${column} AS ix, min(timestamp_ms) AS first_ms FROM ${events} WHERE ${seen.sql} GROUP BY ${column}
    ) e ON e.ix = t.ix)`;
  return { sql, parameters: seen.parameters };
}
