/**
 * Points at publication: the policy as tables, then every award and every standing computed from the events in SQL
 * (decisions 23 to 26).
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { type BoardPolicy, policyOf, readPolicy, type Week } from '../../points/policy.ts';
import { weekBoundaries } from '../../points/weeks.ts';
import { runRows } from './database.ts';

/**
 * `participationScore` of `points/score` for a total that is never below 0, on the columns of `policies`:
 * `min(100, round half up of 100 * total / goal)`, in integers, or `min(goal, total)`.
 */
export function participationScoreSql(total: string): string {
  return `CASE WHEN percent THEN least(100, (200 * ${total}::HUGEINT + goal) // (2 * goal))::BIGINT
    ELSE least(goal, ${total}) END`;
}

/** Replaces everything about points in the generation under construction. */
export async function publishPoints(connection: DuckDBConnection, policyText: string): Promise<void> {
  await fillPolicies(connection, policyText);
  await connection.run('DELETE FROM awards; DELETE FROM standings;');
  await connection.run(AWARDS);
  await connection.run(STANDINGS);
}

/** Number 0 is the default policy; every board with a policy of its own gets the next number. */
async function fillPolicies(connection: DuckDBConnection, policyText: string): Promise<void> {
  const policy = readPolicy(policyText);
  await connection.run(`
    DELETE FROM policies; DELETE FROM board_policies;
    CREATE OR REPLACE TEMP TABLE policy_rules (policy INTEGER, rule INTEGER, type VARCHAR, action VARCHAR, to_owner BOOLEAN,
      points BIGINT, min_words BIGINT, exclude_self BOOLEAN, from_ms BIGINT, until_ms BIGINT);
    CREATE OR REPLACE TEMP TABLE policy_weeks (policy INTEGER, week_ms BIGINT);`);
  const [span] = await runRows(connection, 'SELECT min(timestamp_ms), max(timestamp_ms) FROM events');
  const weeksOf = weeksOver({ fromMs: Number(span?.[0] ?? 0), toMs: Number(span?.[1] ?? 0) });
  await insertPolicy(connection, 0, policy.default, weeksOf);
  await connection.run('INSERT INTO board_policies SELECT ix, 0 FROM boards');
  let number = 0;
  for (const board of policy.boards.keys()) {
    number += 1;
    await insertPolicy(connection, number, policyOf(policy, board), weeksOf);
    await runRows(
      connection,
      `UPDATE board_policies SET policy = $policy WHERE board IN (SELECT ix FROM boards WHERE id = $board)`,
      { policy: BigInt(number), board },
    );
  }
}

async function insertPolicy(
  connection: DuckDBConnection,
  number: number,
  policy: BoardPolicy,
  weeksOf: (week: Week) => readonly bigint[],
): Promise<void> {
  await runRows(
    connection,
    'INSERT INTO policies VALUES ($policy, $goal, $maximum, $percent = 1, $from, $until)',
    {
      policy: BigInt(number),
      goal: BigInt(policy.goal),
      maximum: optional(policy.weeklyMaximum),
      percent: policy.participationScore === 'percent' ? 1n : 0n,
      from: optional(policy.window.fromMs),
      until: optional(policy.window.untilMs),
    },
  );
  for (const [place, rule] of policy.rules.entries()) {
    const dot = rule.on.indexOf('.');
    await runRows(
      connection,
      `INSERT INTO policy_rules VALUES ($policy, $rule, $type, $action, $owner = 1, $points, $words, $self = 1,
         $from, $until)`,
      {
        policy: BigInt(number),
        rule: BigInt(place),
        type: rule.on.slice(0, dot),
        action: rule.on.slice(dot + 1),
        owner: rule.to === 'owner' ? 1n : 0n,
        points: BigInt(rule.points),
        words: BigInt(rule.minWords),
        self: rule.excludeSelf ? 1n : 0n,
        from: optional(rule.fromMs),
        until: optional(rule.untilMs),
      },
    );
  }
  if (policy.weeklyMaximum === undefined) return;
  await runRows(connection, 'INSERT INTO policy_weeks SELECT $policy, unnest($weeks)', {
    policy: BigInt(number),
    weeks: weeksOf(policy.weekStarts),
  });
}

/** Week boundaries over a range, worked out once for all boards whose weeks turn alike. */
function weeksOver(range: { fromMs: number; toMs: number }): (week: Week) => readonly bigint[] {
  const known = new Map<string, readonly bigint[]>();
  return (week) => {
    const key = JSON.stringify(week);
    const weeks = known.get(key) ?? Array.from(weekBoundaries(week, range), BigInt);
    known.set(key, weeks);
    return weeks;
  };
}

function optional(value: number | undefined): bigint | null {
  return value === undefined ? null : BigInt(value);
}

/** A run of characters that are not white space in Unicode's sense, no-break spaces included. */
const WORD = '[^\\s\\x0B\\p{Z}\\x{FEFF}]+';

/**
 * Soft weekly maximum (decision 24): points are never negative, so what counted before an award is below the maximum
 * exactly when everything earned before it in the week is.
 */
const AWARDS = `
  INSERT INTO awards
  WITH candidates AS (
    SELECT e.board, CASE WHEN r.to_owner THEN e."owner" ELSE e.actor END AS person, e.sequence, e.timestamp_ms,
      r.policy, r.rule, r.points, l.weekly_maximum,
      CASE
        WHEN e.timestamp_ms < l.from_ms OR e.timestamp_ms >= l.until_ms THEN 'outside-window'
        WHEN r.exclude_self AND e.actor = e."owner" THEN 'self'
        WHEN r.min_words > 0 AND coalesce(len(regexp_extract_all(p.body, '${WORD}')), 0) < r.min_words THEN 'too-few-words'
      END AS refusal
    FROM events e
    JOIN kinds k ON k.ix = e.kind
    JOIN board_policies b ON b.board = e.board
    JOIN policies l ON l.policy = b.policy
    JOIN policy_rules r ON r.policy = b.policy AND r.type = k.type AND r.action = k.action
      AND (r.from_ms IS NULL OR e.timestamp_ms >= r.from_ms) AND (r.until_ms IS NULL OR e.timestamp_ms < r.until_ms)
    LEFT JOIN pins p ON p.ix = e.pin
  ),
  in_weeks AS (
    SELECT c.*, w.week_ms FROM candidates c
    ASOF LEFT JOIN policy_weeks w ON w.policy = c.policy AND c.timestamp_ms >= w.week_ms
  ),
  earned AS (
    SELECT *, coalesce(sum(points) FILTER (refusal IS NULL) OVER (
      PARTITION BY board, person, week_ms ORDER BY timestamp_ms, sequence, rule
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
    FROM in_weeks
  )
  SELECT board, person, sequence, timestamp_ms, rule, points,
    CASE WHEN refusal IS NOT NULL THEN refusal WHEN before >= weekly_maximum THEN 'weekly-maximum' ELSE 'counted' END,
    week_ms
  FROM earned ORDER BY board, person, timestamp_ms, sequence, rule`;

const STANDINGS = `
  INSERT INTO standings
  WITH earned AS (
    SELECT board, person, sum(points) AS points FROM (
      SELECT board, person, points FROM awards WHERE outcome = 'counted'
      UNION ALL SELECT board, person, points FROM adjustments
    ) GROUP BY board, person
  ),
  totals AS (
    SELECT board, person, greatest(coalesce(e.points, 0), 0)::BIGINT AS total_points
    FROM board_people LEFT JOIN earned e USING (board, person) WHERE present
  )
  SELECT board, person, coalesce(i.total_points, t.total_points),
    coalesce(i.participation_score, ${participationScoreSql('t.total_points')})
  FROM totals t JOIN board_policies USING (board) JOIN policies USING (policy)
  LEFT JOIN imported_points i USING (board, person)
  ORDER BY board, person`;
