/** Points of users on boards, read from a version (decisions 10, 12, 25, 26). */
import { participationScoreSql } from '../../points/score-sql.ts';
import type { Standings, StandingsQuery } from '../query.ts';
import { allOf, inRange, inScope, int8 } from './conditions.ts';
import type { Asking } from './database.ts';
import { type At, rowsAt } from './schema.ts';
import { wholeColumns } from './whole-columns.ts';

export async function readStandings(database: Asking, at: At, query: StandingsQuery): Promise<Standings> {
  const of = 'board' in query.of ? `board = ${int8(query.of.board)}` : `person = ${int8(query.of.user)}`;
  const visible = inScope(at, query.scope, { board: 'standings.board', people: ['standings.person'] });
  const bounded = query.range.startMs !== undefined || query.range.endMs !== undefined;
  // A range of no time at all is answered with nothing, not with everybody at 0 (decision 5).
  const empty = bounded && query.range.startMs === query.range.endMs;
  const source = bounded
    ? rangedStandings(at, of, inRange(query.range, 'timestamp_ms'))
    : rowsAt(at, 'standings');
  const { count, columns } = await wholeColumns(
    database,
    `SELECT standings.person, standings.board, total_points::float8, participation_score::float8
     FROM ${source}
     JOIN ${rowsAt(at, 'users')} ON users.ix = standings.person
     JOIN ${rowsAt(at, 'boards')} ON boards.ix = standings.board
     WHERE ${allOf(`standings.${of}`, visible, String(!empty))} ORDER BY users.id, boards.id`,
    ['int4', 'int4', 'float8', 'float8'],
  );
  const [user, board, totalPoints, participationScore] = columns;
  return { count, user, board, totalPoints, participationScore };
}

/** Standings from the awards and adjustments inside a range; imported figures carry no time and count as nothing. */
function rangedStandings(at: At, of: string, range: string): string {
  const earned = (table: 'awards' | 'adjustments', counts: string) =>
    `SELECT board, person, points FROM ${rowsAt(at, table)} WHERE ${allOf(of, range, counts)}`;
  return `(
    SELECT board, person, total_points, ${participationScoreSql('total_points', '/')} AS participation_score
    FROM (
      SELECT s.board, s.person, CAST(
        CASE WHEN i.person IS NULL THEN greatest(coalesce(sum(e.points), 0), 0) ELSE 0 END AS bigint) AS total_points
      FROM (SELECT board, person FROM ${rowsAt(at, 'standings')} WHERE ${of}) s
      LEFT JOIN (
        ${earned('awards', "outcome = 'counted'")} UNION ALL ${earned('adjustments', 'true')}
      ) e ON e.board = s.board AND e.person = s.person
      LEFT JOIN (SELECT board, person FROM ${rowsAt(at, 'imported_points')}) i
        ON i.board = s.board AND i.person = s.person
      GROUP BY s.board, s.person, i.person
    ) totals
    JOIN (SELECT board, policy FROM ${rowsAt(at, 'board_policies')}) b USING (board)
    JOIN (SELECT policy, goal, percent FROM ${rowsAt(at, 'policies')}) p USING (policy)
  ) standings`;
}
