/**
 * Merges staged records into the version under construction (decision 29). Every step returns its
 * changes, and leaves temporary tables for the derived tables.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { AtOnce } from '../../build-memory.ts';
import type { RecordKind } from '../../staging.ts';
import type { Change, Changes } from '../../store.ts';
import { countRows, fillTemporary } from '../database.ts';
import type { Deleted } from './delete-records.ts';
import { type Erased, eraseForgotten } from './erase.ts';
import { type MergePosition, mergeEvents, NO_ALTERED_EVENTS, nextSequence } from './merge-events.ts';
import { type MergedRecords, mergeRecords } from './merge-records.ts';
import { mergeUsers } from './merge-users.ts';
import { countStaged } from './staging-tables.ts';

export interface Merged {
  readonly changes: Changes;
  /** Of users whom this publication erases; absent when there are none. */
  readonly erased: Erased | undefined;
}

const NO_CHANGE = { added: 0, changed: 0, unchanged: 0 };

/** What the merge of a kind leaves for later steps if no record of it is staged. */
const WITHOUT_RECORDS: Readonly<Record<RecordKind, readonly string[]>> = {
  users: [],
  boards: [],
  pins: ['TABLE altered_pins AS FROM pins LIMIT 0'],
  memberships: ['TABLE fresh_memberships AS FROM memberships LIMIT 0'],
  events: ['VIEW new_events AS SELECT * FROM events WHERE false', NO_ALTERED_EVENTS],
  points: ['TABLE fresh_points AS FROM imported_points LIMIT 0'],
  adjustments: ['TABLE fresh_adjustments AS FROM adjustments LIMIT 0'],
};

/**
 * Merges all staged records. The order matters, because later kinds refer to earlier ones.
 * `deleted`: the records that were deleted before.
 */
export async function mergeStaged(
  connection: DuckDBConnection,
  position: MergePosition,
  deleted: Deleted | undefined,
  atOnce: AtOnce,
): Promise<Merged> {
  const revised = nextSequence(position);
  const staged = await countStaged(connection);
  const merged = async (kind: RecordKind, merge: () => Promise<MergedRecords>): Promise<Change> => {
    const removed = deleted?.[kind] ?? 0;
    if (staged[kind] > 0) return { ...(await merge()), deleted: removed };
    for (const left of WITHOUT_RECORDS[kind]) await connection.run(`CREATE OR REPLACE TEMP ${left}`);
    return { ...NO_CHANGE, deleted: removed };
  };
  const users = await merged('users', () => mergeUsers(connection, revised, atOnce.userBytes));
  const erased = staged.users > 0 ? await eraseForgotten(connection) : undefined;
  const changes = {
    users,
    boards: await merged('boards', () => mergeRecords(connection, 'boards', revised)),
    pins: await merged('pins', () => mergePins(connection, revised)),
    memberships: await merged('memberships', () => mergeMemberships(connection)),
    events: await merged('events', () => mergeEvents(connection, position, atOnce.events)),
    points: await merged('points', () => mergePoints(connection)),
    adjustments: await merged('adjustments', () => mergeAdjustments(connection)),
  };
  return { changes, erased };
}

async function mergePins(connection: DuckDBConnection, revised: number): Promise<MergedRecords> {
  return await mergeRecords(
    connection,
    'pins',
    revised,
    `(SELECT s.*, b.ix AS board, u.ix AS "owner" FROM staged_pins s
      LEFT JOIN boards b ON b.id = s.board_id LEFT JOIN users u ON u.id = s.owner_id)`,
  );
}

/** Keeps the new rows as the table `fresh_memberships`. */
async function mergeMemberships(connection: DuckDBConnection): Promise<MergedRecords> {
  return await insertFresh(
    connection,
    'memberships',
    `SELECT b.ix AS board, u.ix AS person FROM
       (SELECT DISTINCT board_id, user_id FROM staged_memberships) s
     JOIN boards b ON b.id = s.board_id JOIN users u ON u.id = s.user_id`,
    'FROM resolved ANTI JOIN memberships USING (board, person)',
    'SELECT board, person FROM fresh_memberships ORDER BY board, person',
  );
}

/**
 * Keeps the new rows as the table `fresh_adjustments`. Adjustments are identified by all their
 * fields and their number among equal ones: of `k` equal adjustments, those are new that come after
 * the published ones.
 */
async function mergeAdjustments(connection: DuckDBConnection): Promise<MergedRecords> {
  return await insertFresh(
    connection,
    'adjustments',
    `SELECT s.n, b.ix AS board, u.ix AS person, s.points, s.timestamp_ms, s.reason,
       row_number() OVER (PARTITION BY board_id, user_id, points, timestamp_ms, reason ORDER BY n) AS repeat
     FROM staged_adjustments s JOIN boards b ON b.id = s.board_id JOIN users u ON u.id = s.user_id`,
    `SELECT r.* FROM resolved r
     LEFT JOIN (
       SELECT board, person, points, timestamp_ms, reason, count(*) AS held FROM adjustments GROUP BY ALL
     ) h USING (board, person, points, timestamp_ms, reason)
     WHERE repeat > coalesce(held, 0)`,
    'SELECT board, person, points, timestamp_ms, reason FROM fresh_adjustments ORDER BY n',
  );
}

async function insertFresh(
  connection: DuckDBConnection,
  table: 'memberships' | 'adjustments',
  resolved: string,
  fresh: string,
  rows: string,
): Promise<MergedRecords> {
  const all = await fillTemporary(connection, 'resolved', resolved);
  const added = await fillTemporary(connection, `fresh_${table}`, fresh);
  await connection.run(`INSERT INTO ${table} ${rows}; DROP TABLE resolved;`);
  return { added, changed: 0, unchanged: all - added };
}

/**
 * Imported points totals replace earlier ones of the same user and board (decision 26). Keeps new
 * and changed ones as `fresh_points`.
 */
async function mergePoints(connection: DuckDBConnection): Promise<MergedRecords> {
  const all = await fillTemporary(
    connection,
    'merged',
    `SELECT b.ix AS board, u.ix AS person, arg_max(s.total_points, n) AS total_points,
      arg_max(s.participation_score, n) AS participation_score
    FROM staged_points s JOIN boards b ON b.id = s.board_id JOIN users u ON u.id = s.user_id GROUP BY ALL`,
  );
  const fresh = await fillTemporary(
    connection,
    'fresh_points',
    'FROM merged ANTI JOIN imported_points USING (board, person, total_points, participation_score)',
  );
  const [changed] = await countRows(connection, [
    '(FROM fresh_points SEMI JOIN imported_points USING (board, person))',
  ]);
  await connection.run(`
    DELETE FROM imported_points p USING fresh_points f WHERE f.board = p.board AND f.person = p.person;
    INSERT INTO imported_points FROM fresh_points ORDER BY board, person;`);
  return { added: fresh - changed, changed, unchanged: all - fresh };
}
