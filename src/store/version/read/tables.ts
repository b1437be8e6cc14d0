/** Streams the tables of a version as columns. */
import type { DuckDBDataChunk } from '@duckdb/node-api';
import type { EarningRows, PairRows, Tables } from '../../../dataset/tables.ts';
import { text } from '../../stored-values.ts';
import { type Database, doubleColumn, integerColumn, type StatementParameters } from '../database.ts';
import { allRows } from '../publish/layout.ts';
import { earnings } from '../publish/points-tables.ts';
import { flagColumn, idColumn } from './records.ts';

export function readTables(database: Database): Tables {
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
    boardPeople: () => stream('SELECT board, person FROM board_people', pairsOf),
    standings: () =>
      stream(STANDINGS, (chunk) => ({
        ...{ count: chunk.rowCount, ...pairsOf(chunk) },
        totalPoints: doubleColumn(chunk, 2),
        participationScore: doubleColumn(chunk, 3),
        imported: flagColumn(chunk, 4),
      })),
    earnings: () => stream(EARNINGS, earningRows),
  };
}

const PROPERTIES = 'SELECT person, property, value FROM user_properties';
const OF_BOARD =
  'WHERE property = $property AND person IN (SELECT person FROM standings WHERE board = $board)';

const STANDINGS = `
  SELECT board, person, s.total_points::DOUBLE, s.participation_score::DOUBLE, i.total_points IS NOT NULL
  FROM standings s LEFT JOIN imported_points i USING (board, person)`;
const EARNINGS = `
  SELECT board, person, timestamp_ms::DOUBLE, points::DOUBLE FROM (${earnings(allRows)})`;

/** From the columns board, person, timestamp and points. */
export function earningRows(chunk: DuckDBDataChunk): EarningRows {
  return { ...pairsOf(chunk), timestampMs: doubleColumn(chunk, 2), points: doubleColumn(chunk, 3) };
}

function pairsOf(chunk: DuckDBDataChunk): PairRows {
  return { board: integerColumn(chunk, 0), user: integerColumn(chunk, 1) };
}

function textColumn(chunk: DuckDBDataChunk, column: number): string[] {
  return chunk.getColumnValues(column).map(text);
}
