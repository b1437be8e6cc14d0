/**
 * Deletes published records (decision 82): those that staged deletions name, those that a full
 * delivery lacks, and records that refer to a deleted user, board or pin.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { isUnknownOwnerIn } from '../../../domain/unknown-owner.ts';
import {
  IDENTITY,
  type NameRecord,
  RECORD_KINDS,
  type RecordKind,
  type ReplaceableKind,
  type StagedProblem,
} from '../../staging.ts';
import type { DeletingOptions, UnmatchedDeletions } from '../../store.ts';
import { quoted, referringColumns, TABLE_OF } from '../../version-tables.ts';
import { countRows, fillTemporary, runRows } from '../database.ts';
import { emptyDerived } from './derived-tables.ts';
import { identifiedEvents, insertDeletedEvents, type NameTable } from './event-queries.ts';
import { EVENT_TABLES } from './layout.ts';
import { renumber } from './renumber.ts';

/** The number of deleted records of each kind. */
export type Deleted = Readonly<Record<RecordKind, number>>;

/** The column that identifies a published row of each kind; `gone_…` lists its values. */
const ROW: Readonly<Record<RecordKind, string>> = {
  ...{ users: 'ix', boards: 'ix', pins: 'ix', events: 'sequence' },
  ...{ memberships: 'rowid', points: 'rowid', adjustments: 'rowid' },
};

/** Tables of the open file. */
const here: NameTable = (table) => table;

export interface DeletingRun extends DeletingOptions {
  /** Kinds with staged deletions. */
  readonly deleting: ReadonlySet<RecordKind>;
  /** Delete events before this instant; absent: none. */
  readonly expiryMs: number | undefined;
  /** The sequence of the deletions. */
  readonly sequence: number;
  /**
   * Receives deletions that would leave records that refer to what they delete, unless deletions
   * cascade. They are not applied.
   */
  readonly report: (problem: StagedProblem) => void;
  readonly nameOf: NameRecord;
}

/**
 * Applies all deletions, and empties the derived tables, which must then be computed again. Returns
 * the numbers of deleted records; absent when there are none.
 */
export async function deleteRecords(
  connection: DuckDBConnection,
  run: DeletingRun,
): Promise<Deleted | undefined> {
  const { sequence, cascades = false, replaced = [], correctsTimes = false, deleting, expiryMs } = run;
  const mayDelete = deleting.size > 0 || replaced.length > 0 || correctsTimes || expiryMs !== undefined;
  if (!mayDelete) return undefined;
  let all = 0;
  for (const kind of RECORD_KINDS) {
    const gone = [];
    if (deleting.has(kind)) {
      await dropSuperseded(connection, kind);
      gone.push(...named(kind));
    }
    const whole = replaced.find((each) => each === kind);
    if (whole !== undefined) gone.push(lacking(whole));
    if (kind === 'events' && expiryMs !== undefined)
      gone.push(`SELECT sequence AS row FROM events WHERE timestamp_ms < ${expiryMs}`);
    if (kind === 'events' && correctsTimes) gone.push(AT_OTHER_TIMES);
    const rows = gone.join(' UNION ') || 'SELECT 0 AS row LIMIT 0';
    all += await fillTemporary(connection, `gone_${kind}`, rows);
  }
  if (all === 0) return undefined;
  if (cascades) await addReferring(connection);
  else await keepReferred(connection, run);
  const counts = await countRows(
    connection,
    RECORD_KINDS.map((kind) => `gone_${kind}`),
  );
  if (counts.every((count) => count === 0)) return undefined;
  await deleteGone(connection, sequence);
  await renumber(connection);
  return Object.fromEntries(RECORD_KINDS.map((kind, at) => [kind, counts[at]])) as Deleted;
}

/** Published events that are staged with a different time. */
const AT_OTHER_TIMES =
  'SELECT e.sequence AS row FROM events e SEMI JOIN staged_events s ON s.id = e.id AND s.timestamp_ms <> e.timestamp_ms';

/** Removes staged events before an instant, and returns their number. */
export async function leaveOutExpired(
  connection: DuckDBConnection,
  expiryMs: number | undefined,
): Promise<number> {
  if (expiryMs === undefined) return 0;
  const [row] = await runRows(connection, `DELETE FROM staged_events WHERE timestamp_ms < ${expiryMs}`);
  return Number(row?.[0]);
}

const FIRST_UNMATCHED = 3;

/** Staged deletions of events by an id that is neither published nor staged. */
export async function unmatchedDeletions(
  connection: DuckDBConnection,
  deleting: ReadonlySet<RecordKind>,
): Promise<UnmatchedDeletions> {
  if (!deleting.has('events')) return { count: 0, first: [] };
  const rows = await runRows(
    connection,
    `SELECT file, line, count(*) OVER () FROM deletions_events
     ANTI JOIN events USING (id) ANTI JOIN staged_events USING (id)
     WHERE id IS NOT NULL ORDER BY n LIMIT ${FIRST_UNMATCHED}`,
  );
  const first = rows.map(([file, line]) => ({ file: Number(file), line: Number(line) }));
  return { count: Number(rows[0]?.[2] ?? 0), first };
}

/**
 * Conditions under which two records of a kind are the same; one of them must hold. `one` is a
 * deletion.
 */
function sameRecord(kind: RecordKind, one: string, other: string): readonly string[] {
  const same = (column: string) => `${one}.${column} IS NOT DISTINCT FROM ${other}.${column}`;
  const identical = IDENTITY[kind].map(same).join(' AND ');
  if (kind !== 'events') return [identical];
  return [`${one}.id = ${other}.id`, `${one}.id IS NULL AND ${identical}`];
}

/** Removes staged records that a later deletion deletes. */
async function dropSuperseded(connection: DuckDBConnection, kind: RecordKind): Promise<void> {
  const superseded = sameRecord(kind, 'd', 's').map(
    (same) => `SELECT s.n FROM staged_${kind} s JOIN deletions_${kind} d ON ${same} AND s.n < d.n`,
  );
  await connection.run(`DELETE FROM staged_${kind} WHERE n IN (${superseded.join(' UNION ')})`);
}

/** Published records of a kind: `row`, and the columns that identify a record in a file. */
function identified(kind: Exclude<RecordKind, 'events'>): string {
  const table = TABLE_OF[kind];
  const from = `SELECT t.${ROW[kind]} AS row`;
  switch (kind) {
    case 'users':
      return `${from}, t.id FROM users t WHERE NOT t.forgotten`;
    case 'boards':
    case 'pins':
      return `${from}, t.id FROM ${table} t`;
    default:
      return `${from}, t.* EXCLUDE (board, person), b.id AS board_id, u.id AS user_id
        FROM ${table} t JOIN boards b ON b.ix = t.board JOIN users u ON u.ix = t.person`;
  }
}

/** Published records that staged deletions name. */
function named(kind: RecordKind): readonly string[] {
  if (kind === 'events') {
    const moments = 'SELECT timestamp_ms FROM deletions_events WHERE id IS NULL';
    const anonymous = identifiedEvents(here, `t.timestamp_ms IN (${moments})`);
    return [
      'SELECT sequence AS row FROM events SEMI JOIN deletions_events USING (id)',
      `SELECT t.sequence AS row FROM (${anonymous}) t SEMI JOIN deletions_events d ON ${sameRecord(kind, 'd', 't')[1]}`,
    ];
  }
  const [same] = sameRecord(kind, 'd', 't');
  return [`SELECT t.row FROM (${identified(kind)}) t SEMI JOIN deletions_${kind} d ON ${same}`];
}

/** Published records that are not staged, without the unknown owner, whom no source delivers. */
function lacking(kind: ReplaceableKind): string {
  const [same] = sameRecord(kind, 's', 't');
  const owner = kind === 'users' ? ` AND NOT (${isUnknownOwnerIn('t')})` : '';
  return `SELECT t.row FROM (${identified(kind)}${owner}) t ANTI JOIN staged_${kind} s ON ${same}`;
}

/** Rows of a kind that stay and refer to a row that does not: `row`, `target` and its index. */
function referring(kind: RecordKind): readonly string[] {
  const [table, row] = [TABLE_OF[kind], ROW[kind]];
  return Object.entries(referringColumns(table)).map(
    ([column, target]) => `
      SELECT t.${row} AS row, '${kind}' AS kind, '${target}' AS target, t.${quoted(column)} AS ix FROM ${table} t
      SEMI JOIN gone_${target} g ON g.row = t.${quoted(column)} ANTI JOIN gone_${kind} own ON own.row = t.${row}`,
  );
}

/** Deletes what refers to deleted records as well. */
async function addReferring(connection: DuckDBConnection): Promise<void> {
  for (const kind of RECORD_KINDS) {
    const rows = referring(kind);
    if (rows.length === 0) continue;
    await fillTemporary(connection, 'referring', rows.join(' UNION ALL '));
    await connection.run(`INSERT INTO gone_${kind} SELECT DISTINCT row FROM referring`);
  }
}

/** Keeps records to which others refer, and reports their deletions. */
async function keepReferred(
  connection: DuckDBConnection,
  { deleting, report, nameOf }: DeletingRun,
): Promise<void> {
  const rows = RECORD_KINDS.flatMap(referring).join(' UNION ALL ');
  // A record that is kept may refer to another one.
  while ((await fillTemporary(connection, 'referring', rows)) > 0) {
    for (const kind of ['users', 'boards', 'pins'] as const) {
      // What a full delivery lacks is named by no record.
      const asked = deleting.has(kind) ? `deletions_${kind}` : `(FROM staged_${kind} LIMIT 0)`;
      const kept = await runRows(
        connection,
        `WITH counted AS (
           SELECT ix, kind, count(DISTINCT row) AS rows FROM referring WHERE target = '${kind}' GROUP BY ix, kind
         ),
         told AS (
           SELECT ix, string_agg(rows || ' ' || if(rows = 1, rtrim(kind, 's'), kind), ', ' ORDER BY kind) AS reason
           FROM counted GROUP BY ix
         )
         SELECT t.id, told.reason, max(d.file), max(d.line), max(d.raw)
         FROM told JOIN ${kind} t ON t.ix = told.ix LEFT JOIN ${asked} d ON d.id = t.id
         GROUP BY t.id, told.reason ORDER BY max(d.n), t.id`,
      );
      for (const [id, reason, file, line, raw] of kept) {
        report({
          ...{ file: Number(file ?? 0), line: Number(line ?? 0), field: 'deleted' },
          reason: `${kind.slice(0, -1)} ${nameOf(kind, BigInt(String(id)))} still has ${reason}; delete these as well, or use --cascade`,
          ...(typeof raw === 'string' ? { raw } : {}),
        });
      }
      await connection.run(
        `DELETE FROM gone_${kind} WHERE row IN (SELECT ix FROM referring WHERE target = '${kind}')`,
      );
    }
  }
}

async function deleteGone(connection: DuckDBConnection, sequence: number): Promise<void> {
  await connection.run(`
    ${insertDeletedEvents(here, 't.sequence IN (FROM gone_events)', sequence)};
    DELETE FROM user_properties WHERE person IN (FROM gone_users);
    DELETE FROM forgotten_boards WHERE board IN (FROM gone_boards);`);
  for (const table of EVENT_TABLES)
    await connection.run(`DELETE FROM ${table} WHERE sequence IN (FROM gone_events)`);
  for (const kind of RECORD_KINDS) {
    if (kind === 'events') continue;
    await connection.run(`DELETE FROM ${TABLE_OF[kind]} WHERE ${ROW[kind]} IN (FROM gone_${kind})`);
  }
  await emptyDerived(connection);
}
