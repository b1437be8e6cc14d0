/** Builds a ledger from the rows of a store (decisions 27, 50). Integers are numbers or bigints. */

import {
  type Adjustment,
  AWARD_OUTCOMES,
  type AwardOutcome,
  type Ledger,
  type LedgerLine,
} from '../../../dataset/dataset.ts';
import { inSlices } from '../../../system/time-slice.ts';
import { bigint, text } from '../../stored-values.ts';

type LedgerRow = readonly unknown[];

/** Lines between two checks of the time slice. */
const LINES_AT_ONCE = 512;

export interface LedgerRows {
  /**
   * Awards for events inside the scope, in order: instant, type, action, ids of actor, owner and
   * pin, rule, points, outcome, start of the week.
   */
  readonly awards: readonly LedgerRow[];
  /** The points of all awards that count, and the weekly maximum, if any. */
  readonly sums: LedgerRow | undefined;
  /** In order: instant, points, reason. */
  readonly adjustments: readonly LedgerRow[];
  /** Points and score, if any. */
  readonly imported: LedgerRow | undefined;
  readonly standing: LedgerRow | undefined;
}

export async function ledgerOf(rows: LedgerRows): Promise<Ledger> {
  const { awards, sums = [], adjustments, imported, standing } = rows;
  const [pointsOfAll, weeklyMaximum] = sums;
  const recount = recounter(Number(weeklyMaximum ?? Number.POSITIVE_INFINITY));
  const lines: LedgerLine[] = [];
  let countedPoints = 0;
  const read = (from: number, to: number) => {
    for (let row = from; row < to; row++) {
      const line = recount(ledgerLine(awards[row]!));
      if (line.outcome === 'counted') countedPoints += line.points;
      lines.push(line);
    }
  };
  await inSlices(0, awards.length, read, LINES_AT_ONCE);
  return {
    lines,
    otherPoints: Number(pointsOfAll) - countedPoints,
    adjustments: adjustments.map(adjustment),
    imported: imported && figures(imported),
    standing: standing && figures(standing),
  };
}

function ledgerLine(row: LedgerRow): LedgerLine {
  const [timestampMs, type, action, actorId, ownerId, pinId, rule, points, outcome, weekMs] = row;
  return {
    timestampMs: Number(timestampMs),
    kind: { type: text(type), action: text(action) },
    actorId: bigint(actorId),
    ownerId: bigint(ownerId),
    pinId: pinId === null ? undefined : bigint(pinId),
    rule: Number(rule),
    points: Number(points),
    outcome: outcomeOf(text(outcome)),
    weekStartMs: weekMs === null ? undefined : Number(weekMs),
  };
}

/**
 * Applies the weekly maximum (decision 24) to these lines only, in their order. The published
 * outcomes would reveal weeks with activity that the scope hides.
 */
function recounter(weeklyMaximum: number): (line: LedgerLine) => LedgerLine {
  const sums = new Map<number | undefined, number>();
  return (line) => {
    if (line.outcome !== 'counted' && line.outcome !== 'weekly-maximum') return line;
    const before = sums.get(line.weekStartMs) ?? 0;
    if (before >= weeklyMaximum) return { ...line, outcome: 'weekly-maximum' };
    sums.set(line.weekStartMs, before + line.points);
    return { ...line, outcome: 'counted' };
  };
}

function outcomeOf(name: string): AwardOutcome {
  const outcome = AWARD_OUTCOMES.find((known) => known === name);
  if (outcome === undefined) throw new Error(`the database holds an unknown outcome: ${name}`);
  return outcome;
}

function adjustment([timestampMs, points, reason]: LedgerRow): Adjustment {
  return { timestampMs: Number(timestampMs), points: Number(points), reason: text(reason) };
}

function figures([totalPoints, participationScore]: LedgerRow) {
  return { totalPoints: Number(totalPoints), participationScore: Number(participationScore) };
}
