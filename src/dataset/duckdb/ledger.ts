/** Every award of one user on one board, read from a generation (decision 27). */
import type { DuckDBValue } from '@duckdb/node-api';
import type { Adjustment, AwardOutcome, Ledger, LedgerLine } from '../dataset.ts';
import { bigint, type Database, text } from './database.ts';

const OUTCOMES: readonly AwardOutcome[] = [
  'counted',
  'weekly-maximum',
  'outside-window',
  'too-few-words',
  'self',
];

export async function readLedger(database: Database, board: number, user: number): Promise<Ledger> {
  const pair = { board: BigInt(board), person: BigInt(user) };
  const ofPair = 'board = $board AND person = $person';
  const lines = await database.rows(
    `SELECT a.timestamp_ms, k.type, k.action, actor.id, owned.id, p.id, a.rule, a.points, a.outcome, a.week_ms
     FROM (SELECT * FROM awards WHERE ${ofPair}) a
     JOIN (SELECT * FROM board_events WHERE board = $board) e ON e.sequence = a.sequence
     JOIN kinds k ON k.ix = e.kind
     JOIN users actor ON actor.ix = e.actor
     JOIN users owned ON owned.ix = e."owner"
     LEFT JOIN pins p ON p.ix = e.pin
     ORDER BY a.timestamp_ms, a.sequence, a.rule`,
    pair,
  );
  const adjustments = await database.rows(
    `SELECT timestamp_ms, points, reason FROM adjustments WHERE ${ofPair} ORDER BY timestamp_ms, rowid`,
    pair,
  );
  const figures = 'SELECT total_points, participation_score FROM';
  const [imported] = await database.rows(`${figures} imported_points WHERE ${ofPair}`, pair);
  const [standing] = await database.rows(`${figures} standings WHERE ${ofPair}`, pair);
  return {
    lines: lines.map(ledgerLine),
    adjustments: adjustments.map(adjustment),
    imported: imported && { totalPoints: Number(imported[0]), participationScore: Number(imported[1]) },
    standing: standing && { totalPoints: Number(standing[0]), participationScore: Number(standing[1]) },
  };
}

function ledgerLine(row: readonly DuckDBValue[]): LedgerLine {
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
  if (outcome === undefined) throw new Error(`the generation holds an unknown outcome: ${name}`);
  return outcome;
}

function adjustment([timestampMs, points, reason]: readonly DuckDBValue[]): Adjustment {
  return { timestampMs: Number(timestampMs), points: Number(points), reason: text(reason) };
}
