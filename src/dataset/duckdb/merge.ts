/**
 * Merging staged records into the generation under construction (decision 29). Every step returns what it changed.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { RecordKind } from '../staging.ts';
import type { Change, Changes } from '../store.ts';
import { type Parameters, runRows } from './database.ts';
import { countRows, mergeThings } from './merge-things.ts';
import { mergeUsers } from './merge-users.ts';

export interface MergePosition {
  readonly publication: number;
  /** Sequence of the event published last. */
  readonly lastSequence: number;
}

/** Merges everything staged; the order matters, since later kinds refer to earlier ones. */
export async function mergeStaged(connection: DuckDBConnection, position: MergePosition): Promise<Changes> {
  const users = await mergeUsers(connection);
  const boards = await mergeThings(connection, 'boards', {
    title: "''",
    category: "''",
    lti_id: "''",
    course_id: "''",
    created_ms: 'NULL',
  });
  const pins = await mergePins(connection);
  return {
    users,
    boards,
    pins,
    memberships: await mergeMemberships(connection),
    events: await mergeEvents(connection, position),
    points: await mergePoints(connection),
    adjustments: await mergeAdjustments(connection),
  };
}

async function mergePins(connection: DuckDBConnection): Promise<Change> {
  await connection.run(`
    ALTER TABLE staged_pins ADD COLUMN board INTEGER; ALTER TABLE staged_pins ADD COLUMN "owner" INTEGER;
    UPDATE staged_pins s SET board = b.ix FROM boards b WHERE b.id = s.board_id;
    UPDATE staged_pins s SET "owner" = u.ix FROM users u WHERE u.id = s.owner_id;`);
  return await mergeThings(connection, 'pins', {
    board: 'NULL',
    '"owner"': 'NULL',
    title: "''",
    body: "''",
    web_url: "''",
    image_url: "''",
    tags: "'[]'",
    created_ms: 'NULL',
  });
}

async function mergeMemberships(connection: DuckDBConnection): Promise<Change> {
  return await insertFresh(
    connection,
    'memberships',
    `SELECT DISTINCT b.ix AS board, u.ix AS person FROM staged_memberships s
     JOIN boards b ON b.id = s.board_id JOIN users u ON u.id = s.user_id`,
    'SELECT * FROM resolved r WHERE NOT EXISTS (SELECT 1 FROM memberships m WHERE m.board = r.board AND m.person = r.person)',
    'SELECT board, person FROM fresh ORDER BY board, person',
  );
}

async function mergeEvents(
  connection: DuckDBConnection,
  { publication, lastSequence }: MergePosition,
): Promise<Change> {
  await connection.run(`
    INSERT INTO kinds
    SELECT (SELECT count(*) FROM kinds) + row_number() OVER (ORDER BY n) - 1, type, action
    FROM (SELECT type, action, min(n) AS n FROM staged_events GROUP BY type, action) s
    WHERE NOT EXISTS (SELECT 1 FROM kinds k WHERE k.type = s.type AND k.action = s.action)`);
  return await insertFresh(
    connection,
    'events',
    `SELECT s.n, s.id, k.ix AS kind, a.ix AS actor, o.ix AS "owner", b.ix AS board, p.ix AS pin, s.timestamp_ms
     FROM staged_events s
     JOIN kinds k ON k.type = s.type AND k.action = s.action
     JOIN users a ON a.id = s.actor_id JOIN users o ON o.id = s.owner_id
     JOIN boards b ON b.id = s.board_id LEFT JOIN pins p ON p.id = s.pin_id`,
    `SELECT * FROM resolved r WHERE id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM events e WHERE e.id = r.id)
       QUALIFY row_number() OVER (PARTITION BY id ORDER BY n) = 1
     UNION ALL ${freshRepeats('events', 'kind, actor, "owner", board, pin, timestamp_ms', 'id IS NULL')}`,
    `SELECT $lastSequence + row_number() OVER (ORDER BY n), $publication, id, kind, actor, "owner", board, pin,
       timestamp_ms FROM fresh ORDER BY timestamp_ms, n`,
    { lastSequence: BigInt(lastSequence), publication: BigInt(publication) },
  );
}

async function mergeAdjustments(connection: DuckDBConnection): Promise<Change> {
  return await insertFresh(
    connection,
    'adjustments',
    `SELECT s.n, b.ix AS board, u.ix AS person, s.points, s.timestamp_ms, s.reason FROM staged_adjustments s
     JOIN boards b ON b.id = s.board_id JOIN users u ON u.id = s.user_id`,
    freshRepeats('adjustments', 'board, person, points, timestamp_ms, reason', 'true'),
    'SELECT board, person, points, timestamp_ms, reason FROM fresh ORDER BY n',
  );
}

/**
 * Records without an id are the same when all fields are equal and they are the same repeat of them: of `k` equal
 * ones, those are new that come after the ones already published.
 */
function freshRepeats(table: string, fields: string, where: string): string {
  return `
    SELECT r.* EXCLUDE (repeat) FROM (
      SELECT *, row_number() OVER (PARTITION BY ${fields} ORDER BY n) AS repeat FROM resolved WHERE ${where}
    ) r
    LEFT JOIN (
      SELECT ${fields}, count(*) AS held FROM ${table}
      WHERE timestamp_ms IN (SELECT timestamp_ms FROM resolved WHERE ${where}) GROUP BY ALL
    ) h ON ${fields
      .split(', ')
      .map((field) => `h.${field} IS NOT DISTINCT FROM r.${field}`)
      .join(' AND ')}
    WHERE repeat > coalesce(held, 0)`;
}

async function insertFresh(
  connection: DuckDBConnection,
  table: RecordKind,
  resolved: string,
  fresh: string,
  rows: string,
  parameters: Parameters = {},
): Promise<Change> {
  await connection.run(`CREATE OR REPLACE TEMP TABLE resolved AS ${resolved}`);
  await connection.run(`CREATE OR REPLACE TEMP TABLE fresh AS ${fresh}`);
  const [added, all] = await countRows(connection, ['fresh', 'resolved']);
  await runRows(connection, `INSERT INTO ${table} ${rows}`, parameters);
  await connection.run('DROP TABLE resolved; DROP TABLE fresh;');
  return { added, changed: 0, unchanged: all - added };
}

/** Imported figures replace earlier ones of the same user and board (decision 26). */
async function mergePoints(connection: DuckDBConnection): Promise<Change> {
  await connection.run(`
    CREATE OR REPLACE TEMP TABLE merged AS
    SELECT b.ix AS board, u.ix AS person, arg_max(s.total_points, n) AS total_points,
      arg_max(s.participation_score, n) AS participation_score
    FROM staged_points s JOIN boards b ON b.id = s.board_id JOIN users u ON u.id = s.user_id GROUP BY ALL;
    CREATE OR REPLACE TEMP TABLE altered AS
    SELECT m.board, m.person FROM merged m JOIN imported_points p USING (board, person)
    WHERE m.total_points <> p.total_points OR m.participation_score <> p.participation_score;`);
  const [before] = await countRows(connection, ['imported_points']);
  const [changed, all] = await countRows(connection, ['altered', 'merged']);
  await connection.run(`
    DELETE FROM imported_points p USING altered a WHERE a.board = p.board AND a.person = p.person;
    INSERT INTO imported_points SELECT * FROM merged m WHERE NOT EXISTS (
      SELECT 1 FROM imported_points p WHERE p.board = m.board AND p.person = m.person) ORDER BY board, person;`);
  const [after] = await countRows(connection, ['imported_points']);
  const added = after - before;
  return { added, changed, unchanged: all - added - changed };
}
