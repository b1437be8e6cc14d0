/** Every award of one user on one board, read from a version (decision 27). */
import type { Adjustment, AwardOutcome, Ledger, LedgerLine } from '../dataset.ts';
import type { Asking, Value } from './database.ts';
import { type At, rowsAt } from './schema.ts';
import { bigint, text } from './values.ts';

const OUTCOMES: readonly AwardOutcome[] = [
  'counted',
  'weekly-maximum',
  'outside-window',
  'too-few-words',
  'self',
];

export async function readLedger(database: Asking, at: At, board: number, user: number): Promise<Ledger> {
  const ofPair = 'board = $1 AND person = $2';
  const pair = [board, user];
  // The instant says nothing new, but is what leaves out partitions of events.
  const lines = await database.rows(
    `SELECT a.timestamp_ms, kinds.type, kinds.action, actor.id, owned.id, pins.id, a.rule, a.points, a.outcome, a.week_ms
     FROM (SELECT * FROM ${rowsAt(at, 'awards')} WHERE ${ofPair}) a
     JOIN ${rowsAt(at, 'events')} ON events.timestamp_ms = a.timestamp_ms AND events.sequence = a.sequence
     JOIN ${rowsAt(at, 'kinds')} ON kinds.ix = events.kind
     JOIN (SELECT ix, id FROM ${rowsAt(at, 'users')}) actor ON actor.ix = events.actor
     JOIN (SELECT ix, id FROM ${rowsAt(at, 'users')}) owned ON owned.ix = events."owner"
     LEFT JOIN ${rowsAt(at, 'pins')} ON pins.ix = events.pin
     ORDER BY a.timestamp_ms, a.sequence, a.rule`,
    pair,
  );
  const adjustments = await database.rows(
    `SELECT timestamp_ms, points, reason FROM ${rowsAt(at, 'adjustments')} WHERE ${ofPair}
     ORDER BY timestamp_ms, place`,
    pair,
  );
  const figures = 'SELECT total_points, participation_score FROM';
  const [imported] = await database.rows(`${figures} ${rowsAt(at, 'imported_points')} WHERE ${ofPair}`, pair);
  const [standing] = await database.rows(`${figures} ${rowsAt(at, 'standings')} WHERE ${ofPair}`, pair);
  return {
    lines: lines.map(ledgerLine),
    adjustments: adjustments.map(adjustment),
    imported: imported && { totalPoints: Number(imported[0]), participationScore: Number(imported[1]) },
    standing: standing && { totalPoints: Number(standing[0]), participationScore: Number(standing[1]) },
  };
}

function ledgerLine(row: readonly Value[]): LedgerLine {
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

function adjustment([timestampMs, points, reason]: readonly Value[]): Adjustment {
  return { timestampMs: Number(timestampMs), points: Number(points), reason: text(reason) };
}
