/**
 * Points at publication: awards and standings computed from the events in SQL (decisions 23 to 26), anew for what a
 * publication touches. Of the first one, and when the policy has changed, that is everything. Only awards and standings
 * that turn out different are written.
 */
import { type Policy, readPolicy } from '../../points/policy.ts';
import { participationScoreSql } from '../../points/score-sql.ts';
import { joiningRows } from './bulk.ts';
import type { Draft } from './draft.ts';
import { fillPolicies, stretchSql } from './policies.ts';

/** Brings everything about points up to date with what was merged and derived. `anew`: the policy is another. */
export async function publishPoints(draft: Draft, policyText: string, anew: boolean): Promise<void> {
  const policy = readPolicy(policyText);
  const { count: events } = await draft.newEvents();
  const touched = await draft.count(['altered_pins', 'touched_people', 'fresh_adjustments']);
  await joiningRows(draft, anew ? Number.POSITIVE_INFINITY : Math.max(events, ...touched), async () => {
    await findCandidates(draft, policy, anew);
    await writeAwards(draft, anew);
    await writeStandings(draft, anew);
  });
}

/** Leaves the awards that the judged events may bring as the table `candidates`. */
async function findCandidates(draft: Draft, policy: Policy, anew: boolean): Promise<void> {
  const wordsCount = countsWords(policy);
  const altered = wordsCount ? `UNION ALL ${ofAlteredPins(draft.publication)}` : '';
  const judged = anew
    ? `SELECT ${EVENT_COLUMNS} FROM events`
    : `SELECT ${EVENT_COLUMNS} FROM new_events ${altered}`;
  const span = `SELECT min(timestamp_ms), max(timestamp_ms) FROM (${judged}) judged`;
  await fillPolicies(draft, policy, anew, span);
  // Most events are of kinds without a rule: a condition of constants passes them over before anything is joined.
  const kinds = await draft.rows(
    'SELECT DISTINCT k.ix FROM kinds k JOIN policy_rules r USING (type, action)',
  );
  await draft.run(`CREATE TEMP VIEW judged_events AS
    SELECT * FROM (${judged}) judged WHERE kind = ANY('{${kinds.map(([ix]) => Number(ix)).join(',')}}'::int[])`);
  await draft.keep('pin_words', wordsCount ? WORDS_OF_PINS : NO_WORDS);
  await draft.keep('candidates', CANDIDATES);
}

function countsWords(policy: Policy): boolean {
  return [policy.default, ...policy.boards.values()].some(({ rules }) =>
    rules.some(({ minWords }) => minWords > 0),
  );
}

const EVENT_COLUMNS = 'sequence, kind, actor, "owner", board, pin, timestamp_ms';

/** Beside new events those of pins whose words may now count otherwise are judged. */
function ofAlteredPins(publication: number): string {
  return `SELECT ${EVENT_COLUMNS} FROM events
    WHERE publication < ${publication} AND pin IN (SELECT ix FROM altered_pins)`;
}

/** White space in Unicode's sense, no-break spaces included. */
const SPACE = '\\u0009-\\u000D\\u0020\\u00A0\\u1680\\u2000-\\u200A\\u2028\\u2029\\u202F\\u205F\\u3000\\uFEFF';

/** Where a word begins. To look for whole words, as long as they are, would take twice as long. */
const WORD = `(?:^|[${SPACE}])[^${SPACE}]`;

const WORDS_OF_PINS = `
  SELECT p.ix, regexp_count(p.body, '${WORD}') AS words
  FROM (SELECT DISTINCT pin FROM judged_events WHERE pin IS NOT NULL) e JOIN pins p ON p.ix = e.pin`;

const NO_WORDS = 'SELECT 0 AS ix, 0 AS words LIMIT 0';

const CANDIDATES = `
  SELECT e.board, CASE WHEN r.to_owner THEN e."owner" ELSE e.actor END AS person, e.sequence, e.timestamp_ms,
    r.rule, r.points,
    CASE
      WHEN e.timestamp_ms < l.from_ms OR e.timestamp_ms >= l.until_ms THEN 'outside-window'
      WHEN r.exclude_self AND e.actor = e."owner" THEN 'self'
      WHEN coalesce(p.words, 0) < r.min_words THEN 'too-few-words'
    END AS refusal,
    w.week_ms
  FROM judged_events e
  JOIN kinds k ON k.ix = e.kind
  JOIN board_policies b ON b.board = e.board
  JOIN current_policies l ON l.policy = b.policy
  JOIN policy_rules r ON r.policy = b.policy AND r.type = k.type AND r.action = k.action
    AND (r.from_ms IS NULL OR e.timestamp_ms >= r.from_ms) AND (r.until_ms IS NULL OR e.timestamp_ms < r.until_ms)
  LEFT JOIN pin_words p ON p.ix = e.pin
  LEFT JOIN policy_weeks w ON w.calendar = l.calendar AND w.stretch = ${stretchSql('e.timestamp_ms')}
    AND e.timestamp_ms >= w.week_ms AND e.timestamp_ms < w.end_ms`;

const AWARD_COLUMNS = 'board, person, sequence, timestamp_ms, rule, points, outcome, week_ms';

async function writeAwards(draft: Draft, anew: boolean): Promise<void> {
  await draft.keep('replaced', anew ? 'SELECT * FROM awards LIMIT 0' : REPLACED);
  await draft.keep('current_awards', CURRENT_AWARDS);
  const concerned = anew ? 'true' : `EXISTS (SELECT FROM replaced r WHERE ${sameAward('r', 't')})`;
  await draft.end(
    'awards',
    `${concerned} AND NOT EXISTS (
       SELECT FROM current_awards c WHERE ${sameAward('c', 't')} AND c.board = t.board AND c.person = t.person
         AND c.timestamp_ms = t.timestamp_ms AND c.points = t.points AND c.outcome = t.outcome
         AND c.week_ms IS NOT DISTINCT FROM t.week_ms)`,
  );
  // What is still alive of them stays as it is.
  await draft.add(
    'awards',
    AWARD_COLUMNS,
    `SELECT ${AWARD_COLUMNS} FROM current_awards c
     WHERE NOT EXISTS (SELECT FROM awards a WHERE ${sameAward('a', 'c')}) ORDER BY board, person`,
  );
}

/** An event has at most one award by each rule. */
function sameAward(one: string, other: string): string {
  return `${one}.sequence = ${other}.sequence AND ${one}.rule = ${other}.rule`;
}

/** The awards of the weeks that candidates fall into, and of the judged events themselves. */
const REPLACED = `
  SELECT a.* FROM (SELECT DISTINCT board, person, week_ms FROM candidates WHERE week_ms IS NOT NULL) w
  JOIN awards a ON a.board = w.board AND a.person = w.person AND a.week_ms = w.week_ms
  UNION
  SELECT a.* FROM (SELECT DISTINCT sequence FROM candidates) c JOIN awards a ON a.sequence = c.sequence`;

/**
 * Soft weekly maximum (decision 24): points are never negative, so what counted before an award is below the maximum
 * exactly when everything earned before it in the week is. Without a maximum there is no week, and nothing to add up.
 */
const CURRENT_AWARDS = `
  WITH judged AS (
    SELECT board, person, sequence, timestamp_ms, rule, points, refusal, week_ms
    FROM candidates WHERE week_ms IS NOT NULL
    UNION ALL
    SELECT board, person, sequence, timestamp_ms, rule, points,
      CASE WHEN outcome NOT IN ('counted', 'weekly-maximum') THEN outcome END, week_ms
    FROM replaced r WHERE NOT EXISTS (SELECT FROM candidates c WHERE c.sequence = r.sequence)
  ),
  earned AS (
    SELECT *, coalesce(sum(points) FILTER (WHERE refusal IS NULL) OVER (
      PARTITION BY board, person, week_ms ORDER BY timestamp_ms, sequence, rule
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS earlier
    FROM judged
  )
  SELECT board, person, sequence, timestamp_ms, rule, points, coalesce(refusal, 'counted') AS outcome, week_ms
  FROM candidates WHERE week_ms IS NULL
  UNION ALL
  SELECT board, person, sequence, timestamp_ms, rule, points,
    CASE WHEN refusal IS NOT NULL THEN refusal WHEN earlier >= weekly_maximum THEN 'weekly-maximum' ELSE 'counted' END,
    week_ms
  FROM earned JOIN board_policies USING (board) JOIN current_policies USING (policy)`;

async function writeStandings(draft: Draft, anew: boolean): Promise<void> {
  if (!anew) await draft.keep('touched_standings', TOUCHED_STANDINGS);
  const touched = anew ? '' : 'JOIN touched_standings USING (board, person)';
  await draft.keep('current_standings', currentStandings(touched));
  const concerned = anew
    ? 'true'
    : 'EXISTS (SELECT FROM touched_standings s WHERE s.board = t.board AND s.person = t.person)';
  await draft.end(
    'standings',
    `${concerned} AND NOT EXISTS (
       SELECT FROM current_standings c WHERE c.board = t.board AND c.person = t.person
         AND c.total_points = t.total_points AND c.participation_score = t.participation_score)`,
  );
  await draft.add(
    'standings',
    'board, person, total_points, participation_score',
    `SELECT board, person, total_points, participation_score FROM current_standings c
     WHERE NOT EXISTS (SELECT FROM standings s WHERE s.board = c.board AND s.person = c.person)
     ORDER BY board, person`,
  );
}

const TOUCHED_STANDINGS = `
  SELECT board, person FROM touched_people
  UNION SELECT board, person FROM candidates
  UNION SELECT board, person FROM fresh_adjustments`;

/** Standings of those who are on a board; `touched` may leave out rows by a join on `board` and `person`. */
function currentStandings(touched: string): string {
  return `
    WITH earned AS (
      SELECT board, person, sum(points) AS points FROM (
        SELECT board, person, points FROM awards ${touched} WHERE outcome = 'counted'
        UNION ALL SELECT board, person, points FROM adjustments ${touched}
      ) counted GROUP BY board, person
    ),
    totals AS (
      SELECT board, person, greatest(coalesce(e.points, 0), 0)::BIGINT AS total_points
      FROM (SELECT board, person FROM board_people ${touched} WHERE present) p
      LEFT JOIN earned e USING (board, person)
    )
    SELECT board, person, coalesce(i.total_points, t.total_points) AS total_points,
      coalesce(i.participation_score, ${participationScoreSql('t.total_points', '/')}) AS participation_score
    FROM totals t JOIN board_policies USING (board) JOIN current_policies USING (policy)
    LEFT JOIN imported_points i USING (board, person)`;
}
