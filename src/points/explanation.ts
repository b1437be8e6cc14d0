/**
 * A ledger as text (decision 27): every award and adjustment of one user on one board, in order,
 * with its outcome, and how the results of the points routes are derived from them.
 */
import type { Adjustment, AwardOutcome, Ledger, LedgerLine } from '../dataset/dataset.ts';
import { formatInstant } from '../domain/instant.ts';
import { knownZone } from '../system/zones.ts';
import type { BoardPolicy, Rule, Span } from './policy.ts';

export interface ExplainedLine {
  /** The contract's form, in UTC; null for the line that sums events outside the scope. */
  readonly timestamp: string | null;
  readonly what: string;
  /** Empty if the line is not an award. */
  readonly rule: string;
  /** Points of the rule or the adjustment; part of the running total only if `counted`. */
  readonly points: number;
  readonly counted: boolean;
  /** Why it counts or does not; for an adjustment, the reason recorded with it. */
  readonly reason: string;
  /**
   * Start of the week in local time with its offset; empty without a weekly maximum and if the line
   * is not an award.
   */
  readonly week: string;
  /** Plain sum of all counted points so far; below 0 if more was deducted than earned. */
  readonly runningTotal: number;
}

/** Plain data that `JSON.stringify` writes completely. */
export interface Explanation {
  readonly lines: readonly ExplainedLine[];
  readonly countedPoints: number;
  readonly adjustedPoints: number;
  readonly imported: Ledger['imported'];
  readonly standing: Ledger['standing'];
  /** Sentences about the sum and the results of the points routes. */
  readonly summary: readonly string[];
}

/**
 * Lines ascend by time; at the same time, awards come before adjustments. The line for events
 * outside the scope comes last. `policy` is the one in force on the ledger's board, in the ledger's
 * version. Throws if the ledger cites a rule that the policy does not have.
 */
export function explainLedger(ledger: Ledger, policy: BoardPolicy): Explanation {
  return { lines: [...explainLines(ledger, policy)], ...sumLedger(ledger, policy) };
}

/**
 * The lines of `explainLedger`, generated one at a time, because there can be a hundred thousand.
 */
export function* explainLines(ledger: Ledger, policy: BoardPolicy): Generator<ExplainedLine, void> {
  const weeks = new Map<number, string>();
  let runningTotal = 0;
  for (const one of inOrder(ledger)) {
    const entry = 'rule' in one ? explainAward(one, policy, weeks) : explainAdjustment(one);
    if (entry.counted) runningTotal += entry.points;
    yield { timestamp: formatInstant(one.timestampMs), ...entry, runningTotal };
  }
  const { otherPoints } = ledger;
  if (otherPoints === 0) return;
  yield { timestamp: null, ...explainOthers(otherPoints), runningTotal: runningTotal + otherPoints };
}

/**
 * Merges both lists by time. Sorting them first is cheap, because they are usually in order
 * already.
 */
function* inOrder(ledger: Ledger): Generator<LedgerLine | Adjustment, void> {
  const adjustments = ledger.adjustments.toSorted(byTime);
  let next = 0;
  for (const line of ledger.lines.toSorted(byTime)) {
    for (; next < adjustments.length && byTime(adjustments[next]!, line) < 0; next++) {
      yield adjustments[next]!;
    }
    yield line;
  }
  yield* adjustments.slice(next);
}

function byTime(one: LedgerLine | Adjustment, other: LedgerLine | Adjustment): number {
  return one.timestampMs - other.timestampMs;
}

/** Everything but the lines of `explainLedger`. */
export function sumLedger(ledger: Ledger, policy: BoardPolicy): Omit<Explanation, 'lines'> {
  const { lines, otherPoints, adjustments, imported, standing } = ledger;
  const adjustedPoints = adjustments.reduce((sum, { points }) => sum + points, 0);
  const countedPoints = lines.reduce(
    (sum, { outcome, points }) => sum + (outcome === 'counted' ? points : 0),
    otherPoints,
  );
  const summary = summarize(countedPoints, adjustedPoints, ledger, policy);
  return { countedPoints, adjustedPoints, imported, standing, summary };
}

type LedgerEntry = Omit<ExplainedLine, 'timestamp' | 'runningTotal'>;

/** `weeks` caches the formatted weeks: there are few, and formatting one is slow. */
function explainAward(line: LedgerLine, policy: BoardPolicy, weeks: Map<number, string>): LedgerEntry {
  const rule = policy.rules[line.rule];
  if (rule === undefined)
    throw new Error(`The ledger cites rule ${line.rule}, which the policy does not have.`);
  const pin = line.pinId === undefined ? '' : ` on pin ${line.pinId}`;
  return {
    what: `${line.kind.type}.${line.kind.action}${pin} by user ${line.actorId}`,
    rule: describeRule(rule, line.rule),
    points: line.points,
    counted: line.outcome === 'counted',
    reason: describeOutcome(line.outcome, rule, policy),
    week: line.weekStartMs === undefined ? '' : describeWeek(line.weekStartMs, policy, weeks),
  };
}

function explainAdjustment(adjustment: Adjustment): LedgerEntry {
  return {
    what: 'adjustment by hand',
    rule: '',
    points: adjustment.points,
    counted: true,
    reason: adjustment.reason,
    week: '',
  };
}

/** One line for all of them, so that it reveals neither the number of events nor their times. */
function explainOthers(points: number): LedgerEntry {
  const what = 'activity outside the scope of this key';
  const reason = 'makes up the total, which is the same for every key';
  return { what, rule: '', points, counted: true, reason, week: '' };
}

function describeRule(rule: Rule, position: number): string {
  return [
    `${position + 1}: ${rule.points} to the ${rule.to}`,
    ...(rule.minWords > 0 ? [`from ${countWords(rule.minWords)}`] : []),
    ...(rule.excludeSelf ? ['not to oneself'] : []),
    ...describeSpan(rule),
  ].join(', ');
}

function describeOutcome(outcome: AwardOutcome, rule: Rule, policy: BoardPolicy): string {
  switch (outcome) {
    case 'counted':
      return 'counted';
    case 'weekly-maximum':
      return `not counted: the week had reached its maximum of ${policy.weeklyMaximum}`;
    case 'outside-window':
      return `not counted: outside the earning window (${describeSpan(policy.window).join(' ')})`;
    case 'too-few-words':
      return `not counted: the text has fewer than ${countWords(rule.minWords)}`;
    case 'self':
      return 'not counted: the actor is the owner';
  }
}

function countWords(count: number): string {
  return count === 1 ? '1 word' : `${count} words`;
}

function describeSpan(span: Span): string[] {
  return [
    ...(span.fromMs === undefined ? [] : [`from ${formatInstant(span.fromMs)}`]),
    ...(span.untilMs === undefined ? [] : [`until ${formatInstant(span.untilMs)}`]),
  ];
}

function describeWeek(startMs: number, { weekStarts }: BoardPolicy, weeks: Map<number, string>): string {
  const known = weeks.get(startMs) ?? knownZone(weekStarts.zone).render(startMs);
  weeks.set(startMs, known);
  return known;
}

function summarize(counted: number, adjusted: number, ledger: Ledger, policy: BoardPolicy): string[] {
  const { imported, standing } = ledger;
  const sum = counted + adjusted;
  const share = policy.participationScore === 'percent' ? 'percent of' : 'points, at most';
  return [
    `Awards that count make ${counted}, adjustments by hand ${adjusted}, together ${sum}.`,
    ...(sum < 0 ? ['A total is never below 0.'] : []),
    ...(imported === undefined
      ? []
      : [
          'Imported figures replace the computed ones: ' +
            `total points ${imported.totalPoints}, participation score ${imported.participationScore}.`,
        ]),
    standing === undefined
      ? 'The user is not on the board, so the points routes answer nothing.'
      : `The points routes answer total points ${standing.totalPoints} and participation score ` +
        `${standing.participationScore}${imported === undefined ? ` (${share} the goal of ${policy.goal})` : ''}.`,
  ];
}

const COLUMNS = ['when', 'what', 'rule', 'week', 'points', 'total', 'outcome'] as const;
const RIGHT_ALIGNED: ReadonlySet<string> = new Set(['points', 'total']);

/**
 * The table, with one line per award or adjustment, and the summary below it. Every line ends with
 * a line feed.
 */
export function renderExplanation(explanation: Explanation): string {
  const rows = [COLUMNS, ...explanation.lines.map(renderCells)];
  const widths = COLUMNS.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const table = rows.map((row) =>
    row
      .map((cell, column) =>
        RIGHT_ALIGNED.has(COLUMNS[column]!) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!),
      )
      .join('  ')
      .trimEnd(),
  );
  const lines = explanation.lines.length === 0 ? ['No awards, no adjustments.'] : table;
  return [...lines, '', ...explanation.summary].map((line) => `${line}\n`).join('');
}

function renderCells(line: ExplainedLine): string[] {
  const { timestamp, what, rule, week, points, runningTotal, reason } = line;
  // Kinds and reasons come from imported files. Line breaks and escape sequences in them must not
  // reach the terminal.
  return [timestamp ?? '', what, rule, week, String(points), String(runningTotal), reason].map((cell) =>
    cell.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' '),
  );
}
