/** Streams the tables of a version as columns. */
import type { DuckDBDataChunk } from '@duckdb/node-api';
import type { Tables } from '../../../dataset/tables.ts';
import { text } from '../../stored-values.ts';
import { type Database, doubleColumn, integerColumn } from '../database.ts';
import { flagColumn, idColumn } from './records.ts';

export function readTables(database: Database): Tables {
  async function* stream<Rows>(sql: string, rows: (chunk: DuckDBDataChunk) => Rows): AsyncGenerator<Rows> {
    for await (const chunk of database.stream(sql)) yield rows(chunk);
  }
  return {
    ids: (of) => stream(`SELECT id FROM ${of} ORDER BY ix`, (chunk) => idColumn(chunk, 0)),
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

function textColumn(chunk: DuckDBDataChunk, column: number): string[] {
  return chunk.getColumnValues(column).map(text);
}
