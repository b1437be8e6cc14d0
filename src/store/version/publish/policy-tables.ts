/** The points policy as tables of the version under construction, for computing awards in SQL. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { type BoardPolicy, type Policy, readPolicy, type Week } from '../../../points/policy.ts';
import { weekBoundaries } from '../../../points/weeks.ts';
import type { StagedCell } from '../../staged-columns.ts';
import { runRows } from '../database.ts';
import { CHUNK_ROWS, chunkOfCells } from './staging-chunks.ts';

const SEVEN_DAYS_MS = 7 * 24 * 60 * 60 * 1000;

/** Where an instant can be found in `policy_weeks`: few weeks have the same place. */
export const placeOf = (instant: string) => `${instant} // ${SEVEN_DAYS_MS}`;

/** `$weeks`: the starts of the weeks, and the end of the last one. A week has one or two places. */
const INSERT_WEEKS = `
  INSERT INTO policy_weeks
  SELECT $policy, week_ms, until_ms, unnest(range(${placeOf('week_ms')}, ${placeOf('until_ms')} + 1))
  FROM (SELECT unnest($weeks[:-2]) AS week_ms, unnest($weeks[2:]) AS until_ms)`;

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
      points BIGINT, min_words BIGINT, exclude_self BOOLEAN, from_ms BIGINT, until_ms BIGINT);`);
  const boards = [...policy.boards.keys()];
  const all = policiesOf(policy);
  await appendRows(connection, 'current_policies', all.map(policyRow));
  await appendRows(connection, 'policy_rules', all.flatMap(ruleRows));
  await fillWeeks(connection, policy, range);
  await appendRows(
    connection,
    'board_overrides',
    boards.map((board, at) => [board, at + 1]),
  );
  await connection.run(`
    DELETE FROM policies; INSERT INTO policies FROM current_policies;
    INSERT INTO board_policies SELECT b.ix, coalesce(o.policy, 0)
      FROM boards b LEFT JOIN board_overrides o ON o.id = b.id
      WHERE b.ix >= (SELECT count(*) FROM board_policies) ORDER BY b.ix;`);
}

/** Fills `policy_weeks` for the policies with a maximum; the weeks cover the given instants. */
export async function fillWeeks(
  connection: DuckDBConnection,
  policy: Policy,
  range: { fromMs: number; toMs: number },
): Promise<void> {
  await connection.run(
    'CREATE OR REPLACE TEMP TABLE policy_weeks (policy INTEGER, week_ms BIGINT, until_ms BIGINT, place BIGINT)',
  );
  const weeksOf = weeksOver(range);
  for (const [number, { weeklyMaximum, weekStarts }] of policiesOf(policy).entries()) {
    if (weeklyMaximum === undefined) continue;
    await runRows(connection, INSERT_WEEKS, { policy: BigInt(number), weeks: weeksOf(weekStarts) });
  }
}

/** By number. */
function policiesOf(policy: Policy): readonly BoardPolicy[] {
  return [policy.default, ...policy.boards.values()];
}

type Cells = readonly StagedCell[];

function policyRow(policy: BoardPolicy, number: number): Cells {
  const { goal, weeklyMaximum, participationScore, window } = policy;
  const isPercent = participationScore === 'percent';
  return [number, goal, weeklyMaximum, Number(isPercent), window.fromMs, window.untilMs];
}

function ruleRows({ rules }: BoardPolicy, number: number): readonly Cells[] {
  return rules.map(({ on, to, points, minWords, excludeSelf, fromMs, untilMs }, place) => {
    const dot = on.indexOf('.');
    const event = [on.slice(0, dot), on.slice(dot + 1), Number(to === 'owner')];
    return [number, place, ...event, points, minWords, Number(excludeSelf), fromMs, untilMs];
  });
}

/** Appends rows, each with all cells of the table in their order. */
async function appendRows(
  connection: DuckDBConnection,
  table: string,
  rows: readonly Cells[],
): Promise<void> {
  const appender = await connection.createAppender(table);
  for (let from = 0; from < rows.length; from += CHUNK_ROWS) {
    const some = rows.slice(from, from + CHUNK_ROWS);
    const columns = (some[0] ?? []).map((_, column) => some.map((cells) => cells[column]));
    appender.appendDataChunk(chunkOfCells(columns));
  }
  appender.closeSync();
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
