/**
 * What is new in a version since an earlier one: rows say themselves in which publications they came and went, so only
 * those are read (decision 47).
 */
import type { Dataset } from '../dataset.ts';
import { FULL_SCOPE } from '../scope.ts';
import type {
  BoardRows,
  Increment,
  Indexed,
  PairRows,
  PointsChanges,
  PropertyRows,
  UserRows,
} from '../tables.ts';
import type { Asking } from './database.ts';
import { type At, rowsAt, rowsEnded, rowsSince, type Span } from './schema.ts';
import { CREATED_MS, earningsSql } from './tables.ts';
import { readEventsSince } from './timeline.ts';
import { wholeColumns } from './whole-columns.ts';

/** An increment that is larger than this share is not told: reading everything takes no longer. */
const LARGEST_SHARE = 1 / 4;
/** So much is told of any version. */
const LEAST_TOLD_ROWS = 4_096;
/**
 * An earlier version was in force until this time ago, or still is: half of the hour for which what it needs is kept, so
 * that nothing of it can be pruned while it is read.
 */
const FOLLOWED_WITHIN_MS = 1_800_000;

/** Absent when the earlier version is unknown, later, or too long out of force, and when there is too much new. */
export async function readIncrement(
  database: Asking,
  at: At,
  version: Dataset,
  before: Dataset,
): Promise<Increment | undefined> {
  const most = Math.max(LEAST_TOLD_ROWS, Math.floor(before.counts.events * LARGEST_SHARE));
  if (sizeOf(version) - sizeOf(before) > most) return undefined;
  const after = await publicationOf(database, at, before.version);
  if (after === undefined) return undefined;
  // Then events have gone, too.
  if ((await version.forgotten(FULL_SCOPE, before.lastSequence)).length > 0) return undefined;
  const span = { ...at, after };
  const points = await readPoints(database, span, most);
  if (points === undefined) return undefined;
  return {
    events: await readEventsSince(database, at, before.lastSequence),
    users: await readUsers(database, span),
    boards: await readBoards(database, span),
    properties: await readProperties(database, span),
    boardPeople: await readBoardPeople(database, span),
    points,
  };
}

function sizeOf({ counts }: Dataset): number {
  return counts.events + counts.users + counts.boards;
}

async function publicationOf(database: Asking, at: At, version: string): Promise<number | undefined> {
  const [row] = await database.rows(
    `SELECT publication FROM versions v
     WHERE organization = $1 AND version = $2 AND publication <= $3 AND NOT EXISTS (
       SELECT FROM versions n
       WHERE n.organization = v.organization AND n.publication = v.publication + 1 AND n.published_ms < $4)`,
    [at.organization, version, at.publication, Date.now() - FOLLOWED_WITHIN_MS],
  );
  return row === undefined ? undefined : Number(row[0]);
}

async function readUsers(database: Asking, span: Span): Promise<Indexed<UserRows>> {
  const { columns } = await wholeColumns(
    database,
    `SELECT ix, id, ${CREATED_MS} FROM ${rowsSince(span, 'users')} ORDER BY ix`,
    ['int4', 'int8', 'float8'],
  );
  const [index, id, createdMs] = columns;
  return { index, id, createdMs };
}

async function readBoards(database: Asking, span: Span): Promise<Indexed<BoardRows>> {
  const { columns } = await wholeColumns(
    database,
    `SELECT ix, id, ${CREATED_MS}, lti_id, course_id FROM ${rowsSince(span, 'boards')} ORDER BY ix`,
    ['int4', 'int8', 'float8', 'text', 'text'],
  );
  const [index, id, createdMs, ltiId, courseId] = columns;
  return { index, id, createdMs, ltiId, courseId };
}

async function readProperties(database: Asking, span: Span): Promise<PropertyRows | undefined> {
  const [ended] = await database.rows(`SELECT EXISTS (SELECT FROM ${rowsEnded(span, 'user_properties')})`);
  if (ended?.[0] === true) return undefined;
  const sql = `SELECT person, property, value FROM ${rowsSince(span, 'user_properties')}`;
  const { columns } = await wholeColumns(database, sql, ['int4', 'text', 'text']);
  const [user, property, value] = columns;
  return { user, property, value };
}

/** Who is on a board and then is not has a new row, too. */
async function readBoardPeople(database: Asking, span: Span): Promise<PairRows> {
  const earlier = rowsAt({ ...span, publication: span.after }, 'board_people');
  const { columns } = await wholeColumns(
    database,
    `SELECT board, person FROM ${rowsSince(span, 'board_people')}
     WHERE NOT EXISTS (
       SELECT FROM (SELECT board, person FROM ${earlier}) e
       WHERE e.board = board_people.board AND e.person = board_people.person)`,
    ['int4', 'int4'],
  );
  const [board, user] = columns;
  return { board, user };
}

/** Pairs with a row of any table that earnings and standings come from which came or went; some more than once. */
function touchedPairs(span: Span): string {
  const came = (['standings', 'awards', 'imported_points', 'adjustments'] as const).map((table) =>
    rowsSince(span, table),
  );
  const went = (['standings', 'awards', 'imported_points'] as const).map((table) => rowsEnded(span, table));
  return [...came, ...went].map((rows) => `SELECT board, person FROM ${rows}`).join(' UNION ');
}

/** Absent when they are of more pairs than `most`. */
async function readPoints(database: Asking, span: Span, most: number): Promise<PointsChanges | undefined> {
  const touched = `WITH touched AS MATERIALIZED (${touchedPairs(span)} LIMIT ${most + 1})`;
  const { count, columns } = await wholeColumns(
    database,
    `${touched} SELECT board, person, ${figure('total_points')}, ${figure('participation_score')}
     FROM touched LEFT JOIN ${rowsAt(span, 'standings')} USING (board, person)`,
    ['int4', 'int4', 'float8', 'float8'],
  );
  if (count > most) return undefined;
  const [board, user, totalPoints, participationScore] = columns;
  const earned = await wholeColumns(
    database,
    `${touched} ${earningsSql((table) => rowsAt(span, table), 'JOIN touched USING (board, person)')}`,
    ['int4', 'int4', 'float8', 'float8'],
  );
  const [boardOf, userOf, timestampMs, points] = earned.columns;
  return {
    standings: { count, board, user, totalPoints, participationScore },
    earnings: { board: boardOf, user: userOf, timestampMs, points },
  };
}

function figure(column: string): string {
  return `coalesce(${column}::float8, 'NaN'::float8)`;
}
