/**
 * Points at publication: awards and points totals, computed from the events in SQL (decisions 23 to
 * 26) for the rows that a publication affects. For the first publication and after a change of the
 * policy, that is all of them.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { isUnknownOwnerIn } from '../../../domain/unknown-owner.ts';
import { type Policy, readPolicy } from '../../../points/policy.ts';
import { participationScoreSql } from '../../../points/score-sql.ts';
import type { AtOnce } from '../../build-memory.ts';
import { fillTemporary, runRows } from '../database.ts';
import { portionsIn } from '../portions.ts';
import { appendInOrder, emptyOrdered, type RowFilter, replaceRows, rowsOfPairs } from './layout.ts';
import { fillPolicies, fillWeeks, placeOf } from './policy-tables.ts';

/**
 * Updates all points tables after merging and deriving. `all`: computes them all, because the
 * policy has changed or all records count as new. Otherwise leaves the pairs whose rows may have
 * changed in `touched_standings`, what they have earned in `touched_awards` and
 * `touched_adjustments`, and their present rows in `touched_board_people` and `fresh_standings`.
 */
export async function publishPoints(
  connection: DuckDBConnection,
  policyText: string,
  all: boolean,
  atOnce: Pick<AtOnce, 'candidates' | 'pairs'>,
): Promise<void> {
  if (all) {
    await emptyOrdered(connection, 'awards');
    await emptyOrdered(connection, 'standings');
    await connection.run('DELETE FROM board_policies');
  }
  const wordsCount = countsWords(readPolicy(policyText));
  const touched = wordsCount ? OF_NEW_AND_ALTERED_TEXTS : 'FROM new_events';
  await connection.run(`CREATE OR REPLACE TEMP VIEW judged_events AS ${all ? 'FROM events' : touched}`);
  const [span] = await runRows(connection, 'SELECT min(timestamp_ms), max(timestamp_ms) FROM judged_events');
  await fillPolicies(connection, policyText, {
    fromMs: Number(span?.[0] ?? 0),
    toMs: Number(span?.[1] ?? 0),
  });
  if (wordsCount)
    await fillTemporary(connection, 'judged_pins', 'SELECT DISTINCT pin AS ix FROM judged_events');
  await connection.run(candidates(wordsCount ? WORDS : NO_WORDS, await findUnknownOwner(connection)));
  await connection.run(REPLACED);
  const awards = { source: 'candidates', key: 'board', size: '1' };
  const portions = await portionsIn(connection, awards, atOnce.candidates);
  await appendInOrder(connection, 'awards', AWARDS, { portions });
  if (all) {
    await appendStandings(connection, atOnce.pairs);
    return;
  }
  await connection.run(TOUCHED_STANDINGS);
  await fillTemporary(connection, 'fresh_standings', standings(touchedRows));
  await replaceRows(connection, 'standings', 'known_standings', 'fresh_standings');
}

/**
 * Whether awards are in other weeks than by the policy and the time zone rules in use. Reads all
 * awards, so it is for when the rules have changed.
 */
export async function hasOldWeeks(connection: DuckDBConnection, policyText: string): Promise<boolean> {
  const [span] = await runRows(
    connection,
    'SELECT min(timestamp_ms), max(timestamp_ms) FROM awards WHERE week_ms IS NOT NULL',
  );
  if (span === undefined || span[0] === null) return false;
  const range = { fromMs: Number(span[0]), toMs: Number(span[1]) };
  await fillWeeks(connection, readPolicy(policyText), range);
  return (await runRows(connection, OLD_WEEK)).length > 0;
}

/** Some boards after others, with about as many users as `pairsAtOnce` together. */
async function appendStandings(connection: DuckDBConnection, pairsAtOnce: number): Promise<void> {
  const pairs = { source: 'board_people', key: 'board', size: '1' };
  for (const portion of await portionsIn(connection, pairs, pairsAtOnce)) {
    const rows = standings((table) => `(FROM ${table} WHERE ${portion})`);
    await appendInOrder(connection, 'standings', rows, { continues: true });
  }
}

function countsWords(policy: Policy): boolean {
  return [policy.default, ...policy.boards.values()].some(({ rules }) =>
    rules.some(({ minWords }) => minWords > 0),
  );
}

/** New events, and events for which another number of words may count. */
const OF_NEW_AND_ALTERED_TEXTS = `
  FROM events WHERE sequence IN (
    SELECT sequence FROM new_events
    UNION ALL SELECT sequence FROM events WHERE pin IN (SELECT ix FROM altered_pins)
    UNION ALL SELECT sequence FROM altered_events)`;

/** A sequence of characters other than Unicode white space, no-break spaces included. */
const WORD = '[^\\s\\x0B\\p{Z}\\x{FEFF}]+';

const wordsIn = (body: string) => `len(regexp_extract_all(${body}, '${WORD}'))`;

/** How the words are counted that a rule can require. */
interface Words {
  /** Pins with the number of words in their bodies. */
  readonly ofPins: string;
  /** The number of words in the body of event `e`, or null. */
  readonly ofEvent: string;
}

const WORDS: Words = {
  ofPins: `SELECT ix, ${wordsIn('body')} AS words FROM pins SEMI JOIN judged_pins USING (ix)`,
  ofEvent: wordsIn('e.body'),
};

const NO_WORDS: Words = { ofPins: 'SELECT 0 AS ix, 0 AS words LIMIT 0', ofEvent: 'NULL' };

/** The index of the unknown owner, who earns nothing; -1 if there is none. */
async function findUnknownOwner(connection: DuckDBConnection): Promise<number> {
  const found = `SELECT ix FROM users WHERE ${isUnknownOwnerIn('users')}`;
  const [owner] = await runRows(connection, found);
  return Number(owner?.[0] ?? -1);
}

/** Possible awards for the judged events. */
const candidates = ({ ofPins, ofEvent }: Words, unknownOwner: number) => `
  CREATE OR REPLACE TEMP TABLE candidates AS
  WITH governed AS (
    SELECT e.*, coalesce(o.policy, 0) AS policy FROM judged_events e
    -- Few boards have their own policy. DuckDB would join the policies of all boards with their
    -- rules first, and hold a row for each rule of each board in memory.
    LEFT JOIN (FROM board_policies WHERE policy <> 0) o ON o.board = e.board
  ),
  matched AS (
    SELECT e.board, CASE WHEN r.to_owner THEN e."owner" ELSE e.actor END AS person, e.sequence, e.timestamp_ms,
      r.policy, r.rule, r.points,
      CASE
        WHEN e.timestamp_ms < l.from_ms OR e.timestamp_ms >= l.until_ms THEN 'outside-window'
        WHEN r.exclude_self AND e.actor = e."owner" THEN 'self'
        -- A condition with AND would also count the words for rules that require none.
        WHEN CASE WHEN r.min_words > 0 THEN coalesce(${ofEvent}, p.words, 0) ELSE 0 END < r.min_words
          THEN 'too-few-words'
      END AS refusal
    FROM governed e
    JOIN kinds k ON k.ix = e.kind
    JOIN policies l ON l.policy = e.policy
    JOIN policy_rules r ON r.policy = e.policy AND r.type = k.type AND r.action = k.action
      AND (r.from_ms IS NULL OR e.timestamp_ms >= r.from_ms) AND (r.until_ms IS NULL OR e.timestamp_ms < r.until_ms)
      AND NOT (r.to_owner AND e."owner" = ${unknownOwner})
    LEFT JOIN (${ofPins}) p ON p.ix = e.pin
  )
  -- ASOF JOIN would sort all events in memory.
  SELECT m.* EXCLUDE (policy), w.week_ms FROM matched m
  LEFT JOIN policy_weeks w ON w.policy = m.policy AND w.place = ${placeOf('m.timestamp_ms')}
    AND m.timestamp_ms >= w.week_ms AND m.timestamp_ms < w.until_ms`;

const OLD_WEEK = `
  SELECT 1 FROM awards a JOIN board_policies USING (board)
  JOIN policy_weeks w USING (policy)
  WHERE w.place = ${placeOf('a.timestamp_ms')} AND a.timestamp_ms >= w.week_ms AND a.timestamp_ms < w.until_ms
    AND a.week_ms <> w.week_ms
  LIMIT 1`;

/** Removes the awards of the judged events, and those of the weeks of candidates. */
const REPLACED = `
  CREATE OR REPLACE TEMP TABLE replaced AS
  SELECT a.rowid AS row, a.* FROM awards a
  SEMI JOIN (SELECT DISTINCT board, person, week_ms FROM candidates WHERE week_ms IS NOT NULL) w
    ON w.board = a.board AND w.person = a.person AND w.week_ms = a.week_ms
  UNION
  SELECT a.rowid, a.* FROM awards a SEMI JOIN candidates c ON c.sequence = a.sequence;
  DELETE FROM awards WHERE rowid IN (SELECT row FROM replaced);`;

/**
 * Soft weekly maximum (decision 24). Points are never negative, so the points counted before an
 * award are below the maximum exactly when all points earned before it in the week are.
 */
const AWARDS = `
  WITH judged AS (
    FROM candidates
    UNION ALL
    SELECT board, person, sequence, timestamp_ms, rule, points,
      CASE WHEN outcome NOT IN ('counted', 'weekly-maximum') THEN outcome END, week_ms
    FROM replaced ANTI JOIN candidates USING (sequence)
  ),
  earned AS (
    SELECT *, coalesce(sum(points) FILTER (refusal IS NULL) OVER (
      PARTITION BY board, person, week_ms ORDER BY timestamp_ms, sequence, rule
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
    FROM judged
  )
  SELECT board, person, sequence, timestamp_ms, rule, points,
    CASE WHEN refusal IS NOT NULL THEN refusal WHEN before >= l.weekly_maximum THEN 'weekly-maximum' ELSE 'counted' END
      AS outcome,
    week_ms
  FROM earned JOIN board_policies USING (board) JOIN policies l USING (policy)`;

const ofTouchedStandings = (table: string, columns: string) =>
  `CREATE OR REPLACE TEMP TABLE touched_${table} AS FROM ${rowsOfPairs('touched_standings', table, columns)};`;

const TOUCHED_STANDINGS = `
  CREATE OR REPLACE TEMP TABLE touched_standings AS
  SELECT board, person FROM touched_people
  UNION SELECT board, person FROM candidates
  UNION SELECT board, person FROM fresh_adjustments;
  CREATE OR REPLACE TEMP TABLE known_standings AS
    FROM ${rowsOfPairs('touched_standings', 'standings', 'rowid AS row, *')};
  ${ofTouchedStandings('awards', 'board, person, timestamp_ms, points, outcome')}
  ${ofTouchedStandings('adjustments', 'board, person, timestamp_ms, points')}
  CREATE OR REPLACE TEMP TABLE other_standings AS FROM touched_standings ANTI JOIN touched_people USING (board, person);
  CREATE OR REPLACE TEMP TABLE touched_board_people AS
    FROM fresh_board_people UNION ALL FROM ${rowsOfPairs('other_standings', 'board_people')};`;

export const touchedRows: RowFilter = (table) => `touched_${table}`;

/** Counted awards and adjustments. `rowsOf`: restricts them to some pairs. */
export function earnings(rowsOf: RowFilter): string {
  return `
    SELECT board, person, timestamp_ms, points FROM ${rowsOf('awards')} WHERE outcome = 'counted'
    UNION ALL SELECT board, person, timestamp_ms, points FROM ${rowsOf('adjustments')}`;
}

/**
 * Points totals of users with points on a board. `rowsOf`: restricts rows to the pairs to compute.
 */
function standings(rowsOf: RowFilter): string {
  return `
    WITH earned AS (SELECT board, person, sum(points) AS points FROM (${earnings(rowsOf)}) GROUP BY board, person),
    ${paidOwners(rowsOf)},
    -- Reading twice takes no longer. The rows of 88 million pairs would take 1 GB of memory.
    present AS NOT MATERIALIZED (SELECT board, person FROM ${rowsOf('board_people')} WHERE present),
    others AS MATERIALIZED (SELECT board, person FROM ${rowsOf('adjustments')} UNION FROM paid_owners),
    totals AS (
      SELECT board, person, greatest(coalesce(e.points, 0), 0)::BIGINT AS total_points
      FROM (
        FROM present
        -- UNION would compare all pairs, and nearly all of them are present.
        UNION ALL FROM others ANTI JOIN (FROM present SEMI JOIN others USING (board, person)) USING (board, person)
      ) LEFT JOIN earned e USING (board, person)
    )
    SELECT board, person, coalesce(i.total_points, t.total_points) AS total_points,
      coalesce(i.participation_score, ${participationScoreSql('t.total_points', '//')}) AS participation_score
    FROM totals t JOIN board_policies USING (board) JOIN policies USING (policy)
    LEFT JOIN imported_points i USING (board, person)`;
}

/**
 * Users who have an award on a board and never acted there (decision 72). Users who acted and are
 * not present have left. Erased users can still own what others act on (decision 54).
 */
const paidOwners = (rowsOf: RowFilter) => `
    owners AS MATERIALIZED (
      SELECT board, person FROM ${rowsOf('board_people')} SEMI JOIN ${rowsOf('awards')} USING (board, person)
      WHERE NOT present AND person NOT IN (SELECT ix FROM users WHERE forgotten)
    ),
    paid_owners AS (
      FROM owners ANTI JOIN (
        SELECT DISTINCT e.board, e.actor AS person FROM board_events e
        SEMI JOIN owners o ON o.board = e.board AND o.person = e.actor
      ) USING (board, person)
    )`;

/** Points totals that files of format 5 and earlier lack. */
export const MISSING_STANDINGS = standings(
  (table) => `(FROM ${table} ANTI JOIN standings USING (board, person))`,
);
