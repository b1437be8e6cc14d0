/**
 * Tables that are derived from the records of a version: creation times, and the users of each
 * board. Recomputed for the rows that a publication affects; for the first publication, that is all
 * of them.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { appendInOrder } from './layout.ts';

/**
 * Updates the tables after a merge. Points come later, because they depend on the users of boards.
 * Writes the pairs of board and user whose row in `board_people` is new or may have changed to the
 * table `touched_people`. `all`: the tables are empty, and all records count as new.
 */
export async function deriveTables(connection: DuckDBConnection, all: boolean): Promise<void> {
  await connection.run(created('user', 'actor', all));
  await connection.run(created('board', 'board', all));
  await connection.run(TOUCHED_PEOPLE);
  await appendInOrder(connection, 'board_people', BOARD_PEOPLE);
}

/**
 * `created_at` of the import, or else the first event: by the user, or on the board (decision 35).
 * A record without `created_at` never had one, so its earlier row holds its first event so far.
 */
function created(thing: 'user' | 'board', column: 'actor' | 'board', all: boolean): string {
  return `
    CREATE OR REPLACE TEMP TABLE touched_created AS
    SELECT t.ix, coalesce(t.created_ms, least(c.created_ms, e.first_ms)) AS created_ms
    FROM ${thing}s t
    LEFT JOIN ${thing}_created c ON c.ix = t.ix
    LEFT JOIN (SELECT ${column} AS ix, min(timestamp_ms) AS first_ms FROM new_events GROUP BY ALL) e ON e.ix = t.ix
    WHERE ${all ? 'true' : `e.ix IS NOT NULL OR t.id IN (SELECT id FROM staged_${thing}s)`};
    DELETE FROM ${thing}_created WHERE ix IN (SELECT ix FROM touched_created);
    INSERT INTO ${thing}_created FROM touched_created ORDER BY ix;`;
}

/**
 * Decision 10: a user is present on a board as a member or with imported points (`claim` 2), or
 * else by the latest follow or unfollow, or else by having acted (1) and not only owned (0). If a
 * pair has no follow, its earlier row says whether there was an act.
 */
const TOUCHED_PEOPLE = `
  CREATE OR REPLACE TEMP TABLE touched_people AS
  SELECT board, person, max(claim) AS claim FROM (
    SELECT board, actor AS person, 1 AS claim FROM new_events
    UNION ALL SELECT DISTINCT board, "owner", 0 FROM new_events
    UNION ALL SELECT board, person, 2 FROM fresh_memberships
    UNION ALL SELECT board, person, 2 FROM fresh_points
  ) GROUP BY board, person;
  CREATE OR REPLACE TEMP TABLE known_people AS
    SELECT p.rowid AS row, p.* FROM board_people p
    SEMI JOIN touched_people t ON t.board = p.board AND t.person = p.person;
  DELETE FROM board_people WHERE rowid IN (SELECT row FROM known_people);`;

const BOARD_PEOPLE = `
  WITH follows AS (
    SELECT e.board, e.actor AS person,
      arg_max(k.action = 'followed', {moment: e.timestamp_ms, place: e.sequence}) AS follows
    FROM events e JOIN kinds k ON k.ix = e.kind
    SEMI JOIN touched_people t ON t.board = e.board AND t.person = e.actor
    WHERE k.type = 'board' AND k.action IN ('followed', 'unfollowed') GROUP BY e.board, e.actor
  ),
  members AS (
    SELECT DISTINCT board, person FROM (FROM memberships UNION ALL SELECT board, person FROM imported_points)
    SEMI JOIN touched_people USING (board, person)
  )
  SELECT t.board, t.person,
    claim = 2 OR m.person IS NOT NULL OR coalesce(f.follows, claim = 1 OR coalesce(k.present, false)) AS present
  FROM touched_people t
  LEFT JOIN members m USING (board, person)
  LEFT JOIN follows f USING (board, person)
  LEFT JOIN known_people k USING (board, person)`;
