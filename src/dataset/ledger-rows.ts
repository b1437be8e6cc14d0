/** A ledger from the rows that a store finds (decision 27). Integers are numbers or bigints. */
import type { Adjustment, AwardOutcome, Ledger, LedgerLine } from './dataset.ts';
import { bigint, text } from './stored-values.ts';

type Row = readonly unknown[];

const OUTCOMES: readonly AwardOutcome[] = [
  'counted',
  'weekly-maximum',
  'outside-window',
  'too-few-words',
  'self',
];

export interface LedgerRows {
  /** In order: instant, type, action, ids of actor, owner and pin, rule, points, outcome, start of the week. */
  readonly awards: readonly Row[];
  /** In order: instant, points, reason. */
  readonly adjustments: readonly Row[];
  /** Points and score, if any. */
  readonly imported: Row | undefined;
  readonly standing: Row | undefined;
}

export function ledgerOf({ awards, adjustments, imported, standing }: LedgerRows): Ledger {
  return {
    lines: awards.map(ledgerLine),
    adjustments: adjustments.map(adjustment),
    imported: imported && figures(imported),
    standing: standing && figures(standing),
  };
}

function ledgerLine(row: Row): LedgerLine {
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

function outcomeOf(name: string): AwardOutcome {
  const outcome = OUTCOMES.find((known) => known === name);
  if (outcome === undefined) throw new Error(`the database holds an unknown outcome: ${name}`);
  return outcome;
}

function adjustment([timestampMs, points, reason]: Row): Adjustment {
  return { timestampMs: Number(timestampMs), points: Number(points), reason: text(reason) };
}

function figures([totalPoints, participationScore]: Row) {
  return { totalPoints: Number(totalPoints), participationScore: Number(participationScore) };
}
