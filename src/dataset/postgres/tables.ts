/** The tables of a version as columns, streamed. */
import type { Tables } from '../tables.ts';
import type { Asking } from './database.ts';
import { type At, rowsAt, type Table } from './schema.ts';

export function readTables(database: Asking, at: At): Tables {
  const rows = (table: Table) => rowsAt(at, table);
  return {
    async *users() {
      const sql = `SELECT id, ${CREATED_MS} FROM ${rows('users')} ORDER BY ix`;
      for await (const { columns } of database.columns(sql, ['int8', 'float8'])) {
        const [id, createdMs] = columns;
        yield { id, createdMs };
      }
    },
    async *boards() {
      const sql = `SELECT id, ${CREATED_MS}, lti_id, course_id FROM ${rows('boards')} ORDER BY ix`;
      for await (const { columns } of database.columns(sql, ['int8', 'float8', 'text', 'text'])) {
        const [id, createdMs, ltiId, courseId] = columns;
        yield { id, createdMs, ltiId, courseId };
      }
    },
    async *properties() {
      const sql = `SELECT person, property, value FROM ${rows('user_properties')}`;
      for await (const { columns } of database.columns(sql, ['int4', 'text', 'text'])) {
        const [user, property, value] = columns;
        yield { user, property, value };
      }
    },
    async *boardPeople() {
      const sql = `SELECT board, person FROM ${rows('board_people')}`;
      for await (const { columns } of database.columns(sql, ['int4', 'int4'])) {
        const [board, user] = columns;
        yield { board, user };
      }
    },
    async *standings() {
      const sql = `SELECT board, person, total_points::float8, participation_score::float8 FROM ${rows('standings')}`;
      for await (const { count, columns } of database.columns(sql, ['int4', 'int4', 'float8', 'float8'])) {
        const [board, user, totalPoints, participationScore] = columns;
        yield { count, board, user, totalPoints, participationScore };
      }
    },
    async *earnings() {
      for await (const { columns } of database.columns(earningsSql(rows), [
        'int4',
        'int4',
        'float8',
        'float8',
      ])) {
        const [board, user, timestampMs, points] = columns;
        yield { board, user, timestampMs, points };
      }
    },
  };
}

export const CREATED_MS = `coalesce(created_ms::float8, 'NaN'::float8)`;

/** `only` may leave out pairs by a join on `board` and `person`. */
export function earningsSql(rows: (table: Table) => string, only = ''): string {
  const isSame = (table: Table) => `${table}.board = e.board AND ${table}.person = e.person`;
  return `SELECT e.board, e.person, e.timestamp_ms::float8, e.points::float8
    FROM (
      SELECT board, person, timestamp_ms, points FROM ${rows('awards')} ${only} WHERE outcome = 'counted'
      UNION ALL SELECT board, person, timestamp_ms, points FROM ${rows('adjustments')} ${only}
    ) e
    JOIN ${rows('standings')} ON ${isSame('standings')}
    WHERE NOT EXISTS (SELECT FROM ${rows('imported_points')} WHERE ${isSame('imported_points')})`;
}
