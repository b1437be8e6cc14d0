/** Reads points totals of users on boards from a version (decisions 10, 12, 25, 26, 71). */

import { isBounded, type Standings, type StandingsQuery } from '../../../dataset/query.ts';
import { participationScoreSql } from '../../../points/score-sql.ts';
import { type Database, joinedDoubles, joinedIntegers } from '../database.ts';
import { allOf, type Condition, inRange, inScope, ofEvents, outOfRange } from './conditions.ts';

export async function readStandings(database: Database, query: StandingsQuery): Promise<Standings> {
  const of: Condition =
    'board' in query.of
      ? { sql: 'board = $board', parameters: { board: BigInt(query.of.board) } }
      : { sql: 'person = $person', parameters: { person: BigInt(query.of.user) } };
  const where = allOf(of, inScope(query.scope, { board: 'board', people: ['person'] }));
  const bounded = isBounded(query.range);
  const ranged = bounded ? rangedStandings(query, of) : { sql: 'SELECT * FROM standings', parameters: {} };
  // An empty range has an empty result, not all users with 0 points (decision 5).
  const empty = bounded && query.range.startMs === query.range.endMs;
  const chunks = await database.chunks(
    `SELECT person, board, total_points::DOUBLE, participation_score::DOUBLE
     FROM (${ranged.sql})
     JOIN (SELECT ix, id AS user_id FROM users) u ON u.ix = person
     JOIN (SELECT ix, id AS board_id FROM boards) b ON b.ix = board
     WHERE ${where.sql} AND ${!empty} ORDER BY user_id, board_id`,
    { ...where.parameters, ...ranged.parameters },
  );
  return {
    count: chunks.reduce((sum, chunk) => sum + chunk.rowCount, 0),
    user: await joinedIntegers(chunks, 0),
    board: await joinedIntegers(chunks, 1),
    totalPoints: await joinedDoubles(chunks, 2),
    participationScore: await joinedDoubles(chunks, 3),
  };
}

/**
 * Points totals from the awards and adjustments inside a range. Imported totals have no time: they
 * count on boards where the range contains every event that is visible in the scope (decision 71).
 */
function rangedStandings({ scope, range, of }: StandingsQuery, ofAsked: Condition): Condition {
  const inside = inRange(range, 'timestamp_ms');
  const earned = (from: string, counts: string) =>
    `SELECT board, person, points FROM ${from} WHERE ${ofAsked.sql} AND ${inside.sql} AND ${counts}`;
  const seen = ofEvents({ scope, range: {}, ...('board' in of ? of : {}) });
  const sql = `
    WITH imported AS (SELECT * FROM imported_points WHERE ${ofAsked.sql}),
    cut_boards AS (
      SELECT DISTINCT board FROM board_events
      WHERE board IN (SELECT board FROM imported) AND ${seen.sql} AND (${outOfRange(range, 'timestamp_ms')})
    ),
    counted AS (FROM imported ANTI JOIN cut_boards USING (board)),
    totals AS (
      SELECT s.board, s.person,
        CASE WHEN i.person IS NULL THEN greatest(coalesce(sum(e.points), 0), 0) ELSE 0 END::BIGINT AS total_points
      FROM (SELECT board, person FROM standings WHERE ${ofAsked.sql}) s
      LEFT JOIN (
        ${earned('awards', "outcome = 'counted'")} UNION ALL ${earned('adjustments', 'true')}
      ) e ON e.board = s.board AND e.person = s.person
      LEFT JOIN imported i ON i.board = s.board AND i.person = s.person
      GROUP BY s.board, s.person, i.person
    )
    SELECT board, person, coalesce(c.total_points, t.total_points) AS total_points,
      coalesce(c.participation_score, ${participationScoreSql('t.total_points', '//')}) AS participation_score
    FROM totals t JOIN board_policies USING (board) JOIN policies USING (policy)
    LEFT JOIN counted c USING (board, person)`;
  return { sql, parameters: { ...ofAsked.parameters, ...inside.parameters, ...seen.parameters } };
}
