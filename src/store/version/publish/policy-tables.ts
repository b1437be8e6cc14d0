/** The points policy as tables of the version under construction, for computing awards in SQL. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { type BoardPolicy, policyOf, readPolicy, type Week } from '../../../points/policy.ts';
import { weekBoundaries } from '../../../points/weeks.ts';
import { runRows } from '../database.ts';

/**
 * Fills `policies` and `board_policies`, and the temporary tables `policy_rules` and
 * `policy_weeks`; the weeks cover the given instants. Number 0 is the default policy; every board
 * with its own policy gets the next number.
 */
export async function fillPolicies(
  connection: DuckDBConnection,
  policyText: string,
  range: { fromMs: number; toMs: number },
): Promise<void> {
  const policy = readPolicy(policyText);
  await connection.run(`
    CREATE OR REPLACE TEMP TABLE board_overrides (id BIGINT, policy INTEGER);
    CREATE OR REPLACE TEMP TABLE current_policies AS FROM policies LIMIT 0;
    CREATE OR REPLACE TEMP TABLE policy_rules (policy INTEGER, rule INTEGER, type VARCHAR, action VARCHAR, to_owner BOOLEAN,
      points BIGINT, min_words BIGINT, exclude_self BOOLEAN, from_ms BIGINT, until_ms BIGINT);
    CREATE OR REPLACE TEMP TABLE policy_weeks (policy INTEGER, week_ms BIGINT);`);
  const weeksOf = weeksOver(range);
  await insertPolicy(connection, 0, policy.default, weeksOf);
  let number = 0;
  for (const board of policy.boards.keys()) {
    number += 1;
    await insertPolicy(connection, number, policyOf(policy, board), weeksOf);
    await runRows(connection, 'INSERT INTO board_overrides VALUES ($board, $policy)', {
      board,
      policy: BigInt(number),
    });
  }
  await connection.run(`
    DELETE FROM policies; INSERT INTO policies FROM current_policies;
    INSERT INTO board_policies SELECT b.ix, coalesce(o.policy, 0)
      FROM boards b LEFT JOIN board_overrides o ON o.id = b.id
      WHERE b.ix >= (SELECT count(*) FROM board_policies) ORDER BY b.ix;`);
}
async function insertPolicy(
  connection: DuckDBConnection,
  number: number,
  policy: BoardPolicy,
  weeksOf: (week: Week) => readonly bigint[],
): Promise<void> {
  await runRows(
    connection,
    'INSERT INTO current_policies VALUES ($policy, $goal, $maximum, $percent = 1, $from, $until)',
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

/** Week boundaries over a range, computed once for all boards with the same week. */
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
