/** The points policy as tables of a publication under way, for the awards computed in SQL. */
import type { BoardPolicy, Policy } from '../../points/policy.ts';
import { weekBoundaries } from '../../points/weeks.ts';
import { literal } from './database.ts';
import type { Draft } from './draft.ts';

/**
 * Brings `policies` and `board_policies` up to date, and leaves the temporary tables `current_policies`, `policy_rules`
 * and `policy_weeks`, whose weeks reach over `span`, a query of the first and the last instant. Number 0 is the default policy; every board with a policy of
 * its own gets the next number. `anew`: the policy is another one, so that known boards may have another, too.
 */
export async function fillPolicies(draft: Draft, policy: Policy, anew: boolean, span: string): Promise<void> {
  const policies = [policy.default, ...policy.boards.values()];
  const calendars = calendarsOf(policies);
  await draft.keep('current_policies', recordset(policies.map(policyRow(calendars)), POLICY_TYPES));
  await draft.keep('policy_rules', recordset(policies.flatMap(ruleRows), RULE_TYPES));
  await draft.keep('policy_weeks', await weeksOver(draft, calendars, span));
  await draft.keep(
    'board_overrides',
    recordset(
      [...policy.boards.keys()].map((id, place) => ({ id: String(id), policy: place + 1 })),
      'id BIGINT, policy INTEGER',
    ),
  );
  const fresh = `SELECT ${POLICY_COLUMNS} FROM current_policies`;
  const held = `SELECT ${POLICY_COLUMNS} FROM policies`;
  await draft.end('policies', `t.policy IN (SELECT policy FROM (${held} EXCEPT ${fresh}) gone)`);
  await draft.add('policies', POLICY_COLUMNS, `${fresh} EXCEPT ${held}`);
  await fillBoardPolicies(draft, anew);
}

async function fillBoardPolicies(draft: Draft, anew: boolean): Promise<void> {
  const concerned = anew ? '' : 'WHERE b.id IN (SELECT id FROM staged_boards)';
  await draft.keep(
    'fresh_board_policies',
    `SELECT board, fresh AS policy FROM (
       SELECT b.ix AS board, coalesce(o.policy, 0) AS fresh, p.policy AS held
       FROM boards b LEFT JOIN board_overrides o ON o.id = b.id LEFT JOIN board_policies p ON p.board = b.ix ${concerned}
     ) compared
     WHERE held IS DISTINCT FROM fresh`,
  );
  await draft.end('board_policies', 't.board IN (SELECT board FROM fresh_board_policies)');
  await draft.add(
    'board_policies',
    'board, policy',
    'SELECT board, policy FROM fresh_board_policies ORDER BY board',
  );
}

const POLICY_COLUMNS = 'policy, goal, weekly_maximum, percent, from_ms, until_ms';

/** `calendar`: which weeks the maximum is about; null without one. */
const POLICY_TYPES = `policy INTEGER, goal BIGINT, weekly_maximum BIGINT, percent BOOLEAN, from_ms BIGINT,
  until_ms BIGINT, calendar INTEGER`;

function policyRow(calendars: ReadonlyMap<string, Calendar>) {
  return (policy: BoardPolicy, number: number) => ({
    policy: number,
    goal: policy.goal,
    weekly_maximum: policy.weeklyMaximum,
    percent: policy.participationScore === 'percent',
    from_ms: policy.window.fromMs,
    until_ms: policy.window.untilMs,
    calendar: policy.weeklyMaximum === undefined ? undefined : calendars.get(nameOf(policy))?.number,
  });
}

const RULE_TYPES = `policy INTEGER, rule INTEGER, type TEXT, action TEXT, to_owner BOOLEAN, points BIGINT,
  min_words BIGINT, exclude_self BOOLEAN, from_ms BIGINT, until_ms BIGINT`;

function ruleRows(policy: BoardPolicy, number: number) {
  const rows = policy.rules.map((rule, place) => {
    const dot = rule.on.indexOf('.');
    return {
      policy: number,
      rule: place,
      type: rule.on.slice(0, dot),
      action: rule.on.slice(dot + 1),
      to_owner: rule.to === 'owner',
      points: rule.points,
      min_words: rule.minWords,
      exclude_self: rule.excludeSelf,
      from_ms: rule.fromMs,
      until_ms: rule.untilMs,
    };
  });
  // Texts that PostgreSQL cannot hold are no event's kind.
  return rows.filter(({ type, action }) =>
    [type, action].every((text) => text.isWellFormed() && !text.includes('\0')),
  );
}

interface Calendar {
  readonly number: number;
  readonly policy: BoardPolicy;
}

/** The ways in which weeks turn, each numbered once: boards mostly share one. */
function calendarsOf(policies: readonly BoardPolicy[]): ReadonlyMap<string, Calendar> {
  const calendars = new Map<string, Calendar>();
  for (const policy of policies) {
    const name = nameOf(policy);
    if (policy.weeklyMaximum !== undefined && !calendars.has(name)) {
      calendars.set(name, { number: calendars.size, policy });
    }
  }
  return calendars;
}

function nameOf({ weekStarts }: BoardPolicy): string {
  return JSON.stringify(weekStarts);
}

const STRETCH_MS = 7 * 86_400_000;

/**
 * In which stretch of time an instant lies. Two or three weeks reach into a stretch, so a join by stretch and bounds
 * finds the week of an instant without comparing it with all weeks. Beside 1970 the stretch is twice as long, because
 * division drops the rest; what matters is that a later instant is never in an earlier stretch.
 */
export function stretchSql(instantMs: string): string {
  return `(${instantMs}) / ${STRETCH_MS}`;
}

/** A row for every week and stretch that it reaches into: `[week_ms, end_ms)`. */
async function weeksOver(
  draft: Draft,
  calendars: ReadonlyMap<string, Calendar>,
  span: string,
): Promise<string> {
  // Without a maximum nobody asks for weeks, nor when the first event was.
  const [bounds] = calendars.size === 0 ? [] : await draft.rows(span);
  const range = { fromMs: Number(bounds?.[0] ?? 0), toMs: Number(bounds?.[1] ?? 0) };
  const weeks = [...calendars.values()].flatMap(({ number, policy }) => {
    const boundaries = Array.from(weekBoundaries(policy.weekStarts, range));
    const ends = boundaries.slice(1);
    return ends.map((end, place) => ({ calendar: number, week_ms: boundaries[place], end_ms: end }));
  });
  return `SELECT w.calendar, w.week_ms, w.end_ms, stretch
    FROM (${recordset(weeks, 'calendar INTEGER, week_ms BIGINT, end_ms BIGINT')}) w,
      generate_series(${stretchSql('w.week_ms')}, ${stretchSql('w.end_ms - 1')}) stretch`;
}

/** Rows as a query; an absent member is null. */
function recordset(rows: readonly object[], types: string): string {
  return `SELECT * FROM json_to_recordset(${literal(JSON.stringify(rows))}) AS given (${types})`;
}
