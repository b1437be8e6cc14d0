/**
 * Tables that follow from the records: when things were created, and who is on a board. Worked out anew for what a
 * publication touches; only rows that turn out different are written (decision 41).
 */
import { FEW_ROWS, joiningRows } from './bulk.ts';
import type { Draft } from './draft.ts';

/**
 * Brings the tables up to date with what was merged; points come after, since they build on who is on a board. Leaves
 * the pairs of board and person whose row in `board_people` is new or may be another as the table `touched_people`.
 * `anew`: the tables are empty, and everything counts as new.
 */
export async function deriveTables(draft: Draft, anew: boolean): Promise<void> {
  const { count: events } = await draft.newEvents();
  const touched = await draft.count(['staged_users', 'staged_boards', 'fresh_memberships', 'fresh_points']);
  const rows = Math.max(events, ...touched);
  await joiningRows(draft, rows, async () => {
    await draft.keep('reached', REACHED);
    await deriveCreated(draft, 'user', 'actor', anew);
    await deriveCreated(draft, 'board', 'board', anew);
    await derivePeople(draft, rows > FEW_ROWS);
  });
}

/** Who and what new events reach, which are mostly few: read once for all that follows. */
const REACHED = `
  SELECT board, actor, "owner", min(timestamp_ms) AS first_ms FROM new_events GROUP BY board, actor, "owner"`;

/**
 * `created_at` of the import, else the first event: by the user, on the board (decision 35). Who has no `created_at`
 * never had one, so what the table holds of them is their first event so far.
 */
async function deriveCreated(
  draft: Draft,
  thing: 'user' | 'board',
  column: 'actor' | 'board',
  anew: boolean,
): Promise<void> {
  const named = `SELECT k.ix FROM staged_${thing}s s JOIN ${thing}s k ON k.id = s.id`;
  await draft.keep(
    'fresh_created',
    `SELECT ix, created_ms FROM (
       SELECT t.ix, coalesce(t.created_ms, least(c.created_ms, e.first_ms)) AS created_ms,
         c.ix AS known, c.created_ms AS known_ms
       FROM (
         SELECT ix, min(first_ms) AS first_ms FROM (
           SELECT ${column} AS ix, first_ms FROM reached
           UNION ALL SELECT ix, NULL FROM (${anew ? `SELECT ix FROM ${thing}s` : named}) named
         ) touched GROUP BY ix
       ) e
       JOIN ${thing}s t ON t.ix = e.ix
       LEFT JOIN ${thing}_created c ON c.ix = e.ix
     ) compared
     WHERE known IS NULL OR known_ms IS DISTINCT FROM created_ms`,
  );
  await draft.end(`${thing}_created`, 'EXISTS (SELECT FROM fresh_created f WHERE f.ix = t.ix)');
  await draft.add(
    `${thing}_created`,
    'ix, created_ms',
    'SELECT ix, created_ms FROM fresh_created ORDER BY ix',
  );
}

async function derivePeople(draft: Draft, many: boolean): Promise<void> {
  await draft.keep('touched_people', TOUCHED_PEOPLE);
  await draft.keep('fresh_people', freshPeople(await latestFollows(draft, many)));
  await draft.end(
    'board_people',
    'EXISTS (SELECT FROM fresh_people f WHERE f.board = t.board AND f.person = t.person)',
  );
  await draft.add(
    'board_people',
    'board, person, present',
    'SELECT board, person, present FROM fresh_people ORDER BY board, person',
  );
}

/**
 * Decision 10: members and those with imported points (`claim` 2), else by the latest follow or unfollow, else by having
 * acted (1) and not only owned (0). Where no follow is known of a pair, its earlier row says whether there was an act.
 */
const TOUCHED_PEOPLE = `
  SELECT board, person, max(claim) AS claim FROM (
    SELECT board, actor AS person, 1 AS claim FROM reached
    UNION ALL SELECT board, "owner", 0 FROM reached
    UNION ALL SELECT board, person, 2 FROM fresh_memberships
    UNION ALL SELECT board, person, 2 FROM fresh_points
  ) claims GROUP BY board, person`;

/**
 * A query of board, person and `follows`, by the latest follow or unfollow, for those of the touched pairs that have one.
 * `many`: all events of these kinds are read once. Otherwise those of each pair are looked up, all of them: with a LIMIT
 * the planner may walk back through everybody's events to find the one.
 */
async function latestFollows(draft: Draft, many: boolean): Promise<string> {
  const kinds = await draft.rows(
    `SELECT ix, action = 'followed' FROM kinds WHERE type = 'board' AND action IN ('followed', 'unfollowed')`,
  );
  const among = (rows: typeof kinds) =>
    `e.kind = ANY('{${rows.map(([ix]) => Number(ix)).join(',')}}'::int[])`;
  const follows = among(kinds.filter(([, isFollow]) => isFollow === true));
  if (many) {
    return `SELECT DISTINCT ON (e.board, e.actor) e.board, e.actor AS person, ${follows} AS follows
      FROM touched_people t JOIN events e ON e.board = t.board AND e.actor = t.person WHERE ${among(kinds)}
      ORDER BY e.board, e.actor, e.timestamp_ms DESC, e.sequence DESC`;
  }
  return `SELECT t.board, t.person, (
      SELECT (array_agg(${follows} ORDER BY e.timestamp_ms DESC, e.sequence DESC))[1] FROM events e
      WHERE e.board = t.board AND e.actor = t.person AND ${among(kinds)}
    ) AS follows FROM touched_people t`;
}

/** Those of the touched pairs who are new on their board, or have come or gone. */
const freshPeople = (follows: string) => `
  WITH follows AS (${follows}),
  members AS (
    SELECT board, person FROM touched_people JOIN memberships USING (board, person)
    UNION SELECT board, person FROM touched_people JOIN imported_points USING (board, person)
  ),
  derived AS (
    SELECT t.board, t.person, k.present AS known,
      claim = 2 OR m.person IS NOT NULL OR coalesce(f.follows, claim = 1 OR coalesce(k.present, false)) AS present
    FROM touched_people t
    LEFT JOIN members m ON m.board = t.board AND m.person = t.person
    LEFT JOIN follows f ON f.board = t.board AND f.person = t.person
    LEFT JOIN board_people k ON k.board = t.board AND k.person = t.person
  )
  SELECT board, person, present FROM derived WHERE known IS DISTINCT FROM present`;
