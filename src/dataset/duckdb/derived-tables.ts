/** Tables of a generation that follow from its records: when things were created, and who is on a board. */
import type { DuckDBConnection } from '@duckdb/node-api';

/** Recomputes them all; points come after, since they build on who is on a board. */
export async function deriveTables(connection: DuckDBConnection): Promise<void> {
  await connection.run('DELETE FROM user_created; DELETE FROM board_created; DELETE FROM board_people;');
  await connection.run(CREATED);
  await connection.run(BOARD_PEOPLE);
}

/** `created_at` of the import, else the first event: by the user, on the board (decision 5). */
const CREATED = `
  INSERT INTO user_created SELECT u.ix, coalesce(any_value(u.created_ms), min(e.timestamp_ms))
    FROM users u LEFT JOIN (SELECT actor, min(timestamp_ms) AS timestamp_ms FROM events GROUP BY actor) e ON e.actor = u.ix
    GROUP BY u.ix ORDER BY u.ix;
  INSERT INTO board_created SELECT b.ix, coalesce(any_value(b.created_ms), min(e.timestamp_ms))
    FROM boards b LEFT JOIN (SELECT board, min(timestamp_ms) AS timestamp_ms FROM events GROUP BY board) e ON e.board = b.ix
    GROUP BY b.ix ORDER BY b.ix;`;

/** Decision 10: members and those with imported points, else by the latest follow or unfollow, else by having acted. */
const BOARD_PEOPLE = `
  INSERT INTO board_people
  WITH actors AS (SELECT DISTINCT board, actor AS person FROM events),
  follows AS (
    SELECT board, actor AS person,
      arg_max(k.action = 'followed', {moment: e.timestamp_ms, place: e.sequence}) AS follows
    FROM events e JOIN kinds k ON k.ix = e.kind
    WHERE k.type = 'board' AND k.action IN ('followed', 'unfollowed') GROUP BY board, actor
  ),
  members AS (SELECT board, person FROM memberships UNION SELECT board, person FROM imported_points),
  everybody AS (
    SELECT board, person FROM actors UNION SELECT board, "owner" FROM events UNION SELECT board, person FROM members
  )
  SELECT e.board, e.person, m.person IS NOT NULL OR coalesce(f.follows, a.person IS NOT NULL)
  FROM everybody e
  LEFT JOIN members m USING (board, person)
  LEFT JOIN follows f USING (board, person)
  LEFT JOIN actors a USING (board, person)
  ORDER BY e.board, e.person`;
