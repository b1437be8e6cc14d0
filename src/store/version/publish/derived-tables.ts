/**
 * Tables that are derived from the records of a version: creation times, and the users of each
 * board. Recomputed for the rows that a publication affects; for the first publication, that is all
 * of them.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { fillTemporary } from '../database.ts';
import { appendInOrder, emptyOrdered, replaceRows, rowsOfPairs } from './layout.ts';

/**
 * Updates the tables after a merge. Points come later, because they depend on the users of boards.
 * Writes the pairs of board and user whose row in `board_people` is new or may have changed to the
 * table `touched_people`, and unless `all`, their rows after the merge to `fresh_board_people`.
 * `all`: the tables are empty, and all records count as new.
 */
export async function deriveTables(connection: DuckDBConnection, all: boolean): Promise<void> {
  await connection.run(created('user', 'actor', all));
  await connection.run(created('board', 'board', all));
  if (all) await deriveAllPeople(connection);
  else await derivePeople(connection);
}

/** In two statements: an aggregate and a sort in one would share the memory. */
async function deriveAllPeople(connection: DuckDBConnection): Promise<void> {
  const claims = strongest(ACTS, members(MEMBERS), latestFollows(followsIn('board_events')));
  await fillTemporary(connection, 'touched_people', claims);
  await appendInOrder(connection, 'board_people', `SELECT board, person, ${PRESENT} FROM touched_people`);
}

async function derivePeople(connection: DuckDBConnection): Promise<void> {
  await fillTemporary(connection, 'touched_people', strongest(ACTS, members(FRESH_MEMBERS)));
  const ofTouched = (table: string, columns?: string) => rowsOfPairs('touched_people', table, columns);
  await fillTemporary(connection, 'known_people', `FROM ${ofTouched('board_people', 'rowid AS row, *')}`);
  await connection.run(UNDECIDED_PEOPLE);
  const claims = strongest(
    'FROM touched_people',
    'SELECT board, person, present::INTEGER FROM known_people',
    members(ofTouched(MEMBERS)),
    latestFollows(rowsOfPairs('undecided_people', followsIn('board_events'))),
  );
  await fillTemporary(connection, 'fresh_board_people', `SELECT board, person, ${PRESENT} FROM (${claims})`);
  await replaceRows(connection, 'board_people', 'known_people', 'fresh_board_people');
}

/** Empties the tables, which must then be computed from all records. */
export async function emptyDerived(connection: DuckDBConnection): Promise<void> {
  await connection.run('DELETE FROM user_created; DELETE FROM board_created;');
  await emptyOrdered(connection, 'board_people');
}

/**
 * `created_at` of the import, or else the first event: by the user, or on the board (decision 35).
 * A record without `created_at` never had one, so its earlier row holds its first event so far.
 */
function created(thing: 'user' | 'board', column: 'actor' | 'board', all: boolean): string {
  const touched = `SELECT ix FROM first_events UNION SELECT ix FROM ${thing}s WHERE id IN (SELECT id FROM staged_${thing}s)`;
  return `
    CREATE OR REPLACE TEMP TABLE touched_created AS
    WITH first_events AS (SELECT ${column} AS ix, min(timestamp_ms) AS first_ms FROM new_events GROUP BY ALL),
    touched AS (FROM ${thing}s ${all ? '' : `SEMI JOIN (${touched}) USING (ix)`})
    SELECT ix, coalesce(t.created_ms, least(c.created_ms, e.first_ms)) AS created_ms
    FROM touched t LEFT JOIN ${thing}_created c USING (ix) LEFT JOIN first_events e USING (ix);
    DELETE FROM ${thing}_created WHERE ix IN (SELECT ix FROM touched_created);
    INSERT INTO ${thing}_created FROM touched_created ORDER BY ix;`;
}

/**
 * The strongest claim of each user on each board (decision 10): 4 as a member or with imported
 * points, 3 if the latest follow or unfollow is a follow and 2 if it is not, 1 for having acted, 0
 * for only having owned. One aggregate instead of joins: it holds less in memory, and writes to
 * disk what is too much. `claims`: queries for board, person and claim.
 */
function strongest(...claims: readonly string[]): string {
  return `SELECT board, person, max(claim) AS claim FROM (${claims.join(' UNION ALL ')}) GROUP BY board, person`;
}

const PRESENT = 'claim IN (1, 3, 4) AS present';

const ACTS = `
  SELECT board, actor AS person, 1 AS claim FROM new_events
  UNION ALL SELECT DISTINCT board, "owner", 0 FROM new_events`;

const MEMBERS = '(FROM memberships UNION ALL SELECT board, person FROM imported_points)';
const FRESH_MEMBERS = '(FROM fresh_memberships UNION ALL SELECT board, person FROM fresh_points)';

const members = (rows: string) => `SELECT board, person, 4 FROM ${rows}`;

/** `events`: a table of events. */
const followsIn = (events: string) => `(
  SELECT board, actor AS person, k.action = 'followed' AS follows, timestamp_ms, sequence
  FROM ${events} JOIN kinds k ON k.ix = kind
  WHERE k.type = 'board' AND k.action IN ('followed', 'unfollowed'))`;

/**
 * The pairs whose earlier follows matter: a new follow is not always the latest, and users who are
 * not present may have unfollowed. All others stay present, or had not acted before.
 */
const UNDECIDED_PEOPLE = `
  CREATE OR REPLACE TEMP TABLE undecided_people AS
  SELECT board, person FROM known_people WHERE NOT present
  UNION SELECT board, person FROM ${followsIn('new_events')};`;

/**
 * The time, the sequence and whether it is a follow, as one number: the largest is the latest. An
 * aggregate of a pair would stay in memory whole.
 */
const FOLLOW = 'timestamp_ms::HUGEINT * (1::HUGEINT << 57) + sequence * 2 + follows::INTEGER';

const latestFollows = (follows: string) =>
  `SELECT board, person, 2 + (max(${FOLLOW}) & 1)::INTEGER FROM ${follows} GROUP BY board, person`;
