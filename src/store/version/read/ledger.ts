/** Reads all awards of one user on one board from a version (decisions 27, 50). */
import type { Ledger } from '../../../dataset/dataset.ts';
import type { LedgerQuery } from '../../../dataset/query.ts';
import type { Database } from '../database.ts';
import { ofEvents } from './conditions.ts';
import { ledgerOf } from './ledger-rows.ts';

export async function readLedger(database: Database, { scope, board, user }: LedgerQuery): Promise<Ledger> {
  const pair = { board: BigInt(board), person: BigInt(user) };
  const ofPair = 'board = $board AND person = $person';
  const seen = ofEvents({ scope, range: {}, board });
  const awards = await database.rows(
    `SELECT a.timestamp_ms, k.type, k.action, actor.id, owned.id, p.id, a.rule, a.points, a.outcome, a.week_ms
     FROM (SELECT * FROM awards WHERE ${ofPair}) a
     JOIN (SELECT * FROM board_events WHERE ${seen.sql}) e ON e.sequence = a.sequence
     JOIN kinds k ON k.ix = e.kind
     JOIN users actor ON actor.ix = e.actor
     JOIN users owned ON owned.ix = e."owner"
     LEFT JOIN pins p ON p.ix = e.pin
     ORDER BY a.timestamp_ms, a.sequence, a.rule`,
    { ...pair, ...seen.parameters },
  );
  const [sums] = await database.rows(
    `SELECT (SELECT coalesce(sum(points), 0)::BIGINT FROM awards WHERE ${ofPair} AND outcome = 'counted'),
       (SELECT weekly_maximum FROM board_policies JOIN policies USING (policy) WHERE board = $board)`,
    pair,
  );
  const adjustments = await database.rows(
    `SELECT timestamp_ms, points, reason FROM adjustments WHERE ${ofPair} ORDER BY timestamp_ms, rowid`,
    pair,
  );
  const figures = 'SELECT total_points, participation_score FROM';
  const [imported] = await database.rows(`${figures} imported_points WHERE ${ofPair}`, pair);
  const [standing] = await database.rows(`${figures} standings WHERE ${ofPair}`, pair);
  return await ledgerOf({ awards, sums, adjustments, imported, standing });
}
