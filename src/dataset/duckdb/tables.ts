/** The tables of a generation as columns, streamed. */
import type { DuckDBDataChunk } from '@duckdb/node-api';
import { bigint, text } from '../stored-values.ts';
import type { Tables } from '../tables.ts';
import { type Database, doubleColumn, integerColumn } from './database.ts';

export function readTables(database: Database): Tables {
  async function* stream<Rows>(sql: string, rows: (chunk: DuckDBDataChunk) => Rows): AsyncGenerator<Rows> {
    for await (const chunk of database.stream(sql)) yield rows(chunk);
  }
  return {
    users: () => stream(USERS, (chunk) => ({ id: idColumn(chunk, 0), createdMs: doubleColumn(chunk, 1) })),
    boards: () =>
      stream(BOARDS, (chunk) => ({
        id: idColumn(chunk, 0),
        createdMs: doubleColumn(chunk, 1),
        ltiId: textColumn(chunk, 2),
        courseId: textColumn(chunk, 3),
      })),
    properties: () =>
      stream(PROPERTIES, (chunk) => ({
        user: integerColumn(chunk, 0),
        property: textColumn(chunk, 1),
        value: textColumn(chunk, 2),
      })),
    boardPeople: () =>
      stream(BOARD_PEOPLE, (chunk) => ({ board: integerColumn(chunk, 0), user: integerColumn(chunk, 1) })),
    standings: () =>
      stream(STANDINGS, (chunk) => ({
        count: chunk.rowCount,
        board: integerColumn(chunk, 0),
        user: integerColumn(chunk, 1),
        totalPoints: doubleColumn(chunk, 2),
        participationScore: doubleColumn(chunk, 3),
        imported: flagColumn(chunk, 4),
      })),
    earnings: () =>
      stream(EARNINGS, (chunk) => ({
        board: integerColumn(chunk, 0),
        user: integerColumn(chunk, 1),
        timestampMs: doubleColumn(chunk, 2),
        points: doubleColumn(chunk, 3),
      })),
  };
}

const CREATED_MS = `coalesce(created_ms::DOUBLE, 'NaN'::DOUBLE)`;
const USERS = `SELECT id, ${CREATED_MS} FROM users ORDER BY ix`;
const BOARDS = `SELECT id, ${CREATED_MS}, coalesce(lti_id, ''), coalesce(course_id, '') FROM boards ORDER BY ix`;
const PROPERTIES = 'SELECT person, property, value FROM user_properties';
const BOARD_PEOPLE = 'SELECT board, person FROM board_people';
const STANDINGS = `
  SELECT board, person, s.total_points::DOUBLE, s.participation_score::DOUBLE, i.total_points IS NOT NULL
  FROM standings s LEFT JOIN imported_points i USING (board, person)`;
const EARNINGS = `
  SELECT board, person, timestamp_ms::DOUBLE, points::DOUBLE
  FROM (
    SELECT board, person, timestamp_ms, points FROM awards WHERE outcome = 'counted'
    UNION ALL SELECT board, person, timestamp_ms, points FROM adjustments
  )
  SEMI JOIN standings USING (board, person)
  ANTI JOIN imported_points USING (board, person)`;

function idColumn(chunk: DuckDBDataChunk, column: number): BigInt64Array {
  return BigInt64Array.from(chunk.getColumnValues(column), bigint);
}

function flagColumn(chunk: DuckDBDataChunk, column: number): Uint8Array {
  return Uint8Array.from(chunk.getColumnValues(column), Number);
}

function textColumn(chunk: DuckDBDataChunk, column: number): string[] {
  return chunk.getColumnValues(column).map(text);
}
