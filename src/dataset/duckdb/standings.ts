/** Points of users on boards, read from a generation (decisions 10, 12, 25, 26). */
import { participationScoreSql } from '../../points/score-sql.ts';
import type { Standings, StandingsQuery } from '../query.ts';
import { allOf, type Condition, inRange, inScope } from './conditions.ts';
import { type Database, joinedDoubles, joinedIntegers } from './database.ts';

export async function readStandings(database: Database, query: StandingsQuery): Promise<Standings> {
  const of: Condition =
    'board' in query.of
      ? { sql: 'board = $board', parameters: { board: BigInt(query.of.board) } }
      : { sql: 'person = $person', parameters: { person: BigInt(query.of.user) } };
  const where = allOf(of, inScope(query.scope, { board: 'board', people: ['person'] }));
  const bounded = query.range.startMs !== undefined || query.range.endMs !== undefined;
  const range = inRange(query.range, 'timestamp_ms');
  // A range of no time at all is answered with nothing, not with everybody at 0 (decision 5).
  const empty = bounded && query.range.startMs === query.range.endMs;
  const chunks = await database.chunks(
    `SELECT person, board, total_points::DOUBLE, participation_score::DOUBLE
     FROM (${bounded ? rangedStandings(of, range) : 'SELECT * FROM standings'})
     JOIN (SELECT ix, id AS user_id FROM users) u ON u.ix = person
     JOIN (SELECT ix, id AS board_id FROM boards) b ON b.ix = board
     WHERE ${where.sql} AND ${!empty} ORDER BY user_id, board_id`,
    bounded ? { ...where.parameters, ...range.parameters } : where.parameters,
  );
  return {
    count: chunks.reduce((sum, chunk) => sum + chunk.rowCount, 0),
    user: await joinedIntegers(chunks, 0),
    board: await joinedIntegers(chunks, 1),
    totalPoints: await joinedDoubles(chunks, 2),
    participationScore: await joinedDoubles(chunks, 3),
  };
}

/** Standings from the awards and adjustments inside a range; imported figures carry no time and count as nothing. */
function rangedStandings(of: Condition, range: Condition): string {
  const earned = (from: string, counts: string) =>
    `SELECT board, person, points FROM ${from} WHERE ${of.sql} AND ${range.sql} AND ${counts}`;
  return `
    SELECT board, person, total_points, ${participationScoreSql('total_points', '//')} AS participation_score
    FROM (
      SELECT s.board, s.person, CASE WHEN i.person IS NULL THEN greatest(coalesce(sum(e.points), 0), 0) ELSE 0 END::BIGINT
        AS total_points
      FROM (SELECT board, person FROM standings WHERE ${of.sql}) s
      LEFT JOIN (
        ${earned('awards', "outcome = 'counted'")} UNION ALL ${earned('adjustments', 'true')}
      ) e ON e.board = s.board AND e.person = s.person
      LEFT JOIN imported_points i ON i.board = s.board AND i.person = s.person
      GROUP BY s.board, s.person, i.person
    )
    JOIN board_policies USING (board) JOIN policies USING (policy)`;
}
