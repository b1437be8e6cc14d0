/** Streams the tables of a version as columns. */
import type { DuckDBDataChunk } from '@duckdb/node-api';
import type { PairRows, Tables } from '../../../dataset/tables.ts';
import { text } from '../../stored-values.ts';
import { type Database, doubleColumn, integerColumn, type StatementParameters } from '../database.ts';
import { flagColumn, idColumn } from './records.ts';

/**
 * `since`: only rows of boards that later publications have changed, in tables whose rows belong to
 * boards.
 */
export function readTables(database: Database, since?: number): Tables {
  const parameters = since === undefined ? {} : { since: BigInt(since) };
  const sources = since === undefined ? WHOLE : OF_BOARDS;
  async function* stream<Rows>(
    sql: string,
    rows: (chunk: DuckDBDataChunk) => Rows,
    used: StatementParameters = {},
  ): AsyncGenerator<Rows> {
    for await (const chunk of database.stream(sql, used)) yield rows(chunk);
  }
  return {
    ids: (of) => stream(`SELECT id FROM ${of} ORDER BY ix`, (chunk) => idColumn(chunk, 0)),
    properties: (of) =>
      stream(
        of === undefined ? PROPERTIES : `${PROPERTIES} ${OF_BOARD}`,
        (chunk) => ({
          user: integerColumn(chunk, 0),
          property: textColumn(chunk, 1),
          value: textColumn(chunk, 2),
        }),
        of && { property: of.property, board: BigInt(of.board) },
      ),
    boardPeople: () => stream(boardPeople(sources), pairsOf, parameters),
    standings: () =>
      stream(
        standings(sources),
        (chunk) => ({
          ...{ count: chunk.rowCount, ...pairsOf(chunk) },
          totalPoints: doubleColumn(chunk, 2),
          participationScore: doubleColumn(chunk, 3),
          imported: flagColumn(chunk, 4),
        }),
        parameters,
      ),
    earnings: () =>
      stream(
        earnings(sources),
        (chunk) => ({
          ...pairsOf(chunk),
          timestampMs: doubleColumn(chunk, 2),
          points: doubleColumn(chunk, 3),
        }),
        parameters,
      ),
  };
}

const PROPERTIES = 'SELECT person, property, value FROM user_properties';
const OF_BOARD =
  'WHERE property = $property AND person IN (SELECT person FROM standings WHERE board = $board)';

/** The boards that publications after the sequence `$since` have changed. */
export const CHANGED_BOARDS =
  'SELECT unnest(boards) AS board FROM version_changes WHERE last_sequence > $since';

/** What a query reads in place of a table. */
type Sources = (table: 'board_people' | 'standings' | 'imported_points' | 'awards' | 'adjustments') => string;

const WHOLE: Sources = (table) => table;
const OF_BOARDS: Sources = (table) => `(FROM ${table} WHERE board IN (${CHANGED_BOARDS}))`;

const boardPeople = (from: Sources) => `SELECT board, person FROM ${from('board_people')}`;
const standings = (from: Sources) => `
  SELECT board, person, s.total_points::DOUBLE, s.participation_score::DOUBLE, i.total_points IS NOT NULL
  FROM ${from('standings')} s LEFT JOIN ${from('imported_points')} i USING (board, person)`;
const earnings = (from: Sources) => `
  SELECT board, person, timestamp_ms::DOUBLE, points::DOUBLE FROM ${from('awards')} WHERE outcome = 'counted'
  UNION ALL SELECT board, person, timestamp_ms::DOUBLE, points::DOUBLE FROM ${from('adjustments')}`;

function pairsOf(chunk: DuckDBDataChunk): PairRows {
  return { board: integerColumn(chunk, 0), user: integerColumn(chunk, 1) };
}

function textColumn(chunk: DuckDBDataChunk, column: number): string[] {
  return chunk.getColumnValues(column).map(text);
}
