/** Every award of one user on one board, read from a version (decisions 27, 50). */
import type { Ledger } from '../dataset.ts';
import { ledgerOf } from '../ledger-rows.ts';
import type { LedgerQuery } from '../query.ts';
import { ofEvents, readVisible } from './conditions.ts';
import type { Asking } from './database.ts';
import { type At, rowsAt } from './schema.ts';

export async function readLedger(
  database: Asking,
  at: At,
  { scope, board, user }: LedgerQuery,
): Promise<Ledger> {
  const ofPair = 'board = $1 AND person = $2';
  const pair = [board, user];
  const seen = ofEvents({ range: {}, board }, await readVisible(database, at, scope));
  // The instant says nothing new, but is what leaves out partitions of events.
  const awards = await database.rows(
    `SELECT a.timestamp_ms, kinds.type, kinds.action, actor.id, owned.id, pins.id, a.rule, a.points, a.outcome, a.week_ms
     FROM (SELECT * FROM ${rowsAt(at, 'awards')} WHERE ${ofPair}) a
     JOIN (SELECT * FROM ${rowsAt(at, 'events')} WHERE ${seen}) events ON events.timestamp_ms = a.timestamp_ms AND events.sequence = a.sequence
     JOIN ${rowsAt(at, 'kinds')} ON kinds.ix = events.kind
     JOIN (SELECT ix, id FROM ${rowsAt(at, 'users')}) actor ON actor.ix = events.actor
     JOIN (SELECT ix, id FROM ${rowsAt(at, 'users')}) owned ON owned.ix = events."owner"
     LEFT JOIN ${rowsAt(at, 'pins')} ON pins.ix = events.pin
     ORDER BY a.timestamp_ms, a.sequence, a.rule`,
    pair,
  );
  const [sums] = await database.rows(
    `SELECT (SELECT CAST(coalesce(sum(points), 0) AS bigint) FROM ${rowsAt(at, 'awards')}
         WHERE ${ofPair} AND outcome = 'counted'),
       (SELECT weekly_maximum FROM (SELECT board, policy FROM ${rowsAt(at, 'board_policies')}) b
         JOIN (SELECT policy, weekly_maximum FROM ${rowsAt(at, 'policies')}) p USING (policy) WHERE board = $1)`,
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
  return await ledgerOf({ awards, sums, adjustments, imported, standing });
}
