/**
 * Compares two versions of an organization, whose files are attached to one connection: which
 * records were added, changed and deleted. Records are compared by what they say, not by their
 * indices or sequences.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { RECORD_KINDS, type RecordKind } from '../../staging.ts';
import type { Change, Changes, DifferenceSample, VersionDifference } from '../../store.ts';
import { text } from '../../stored-values.ts';
import { type CopiedTable, TABLE_OF, type ThingTable } from '../../version-tables.ts';
import { countRows, fillTemporary, runRows } from '../database.ts';
import { comparedFields, textOrDigest } from '../long-texts.ts';
import { identifiedEvents } from './event-queries.ts';
import { hasHistory, tableOf } from './schema.ts';

/** One side of a comparison. */
export interface ComparedVersion {
  /** The name of its attached file; absent: the file that is open. */
  readonly file?: string;
  readonly format: number;
}

/** How many records of each kind and change are listed. */
const SAMPLES = 5;

/**
 * The differences from one version to a later one. `earlierSequence`: the last sequence of the
 * earlier one.
 */
export async function compareVersions(
  connection: DuckDBConnection,
  earlier: ComparedVersion,
  later: ComparedVersion,
  earlierSequence: number,
): Promise<VersionDifference> {
  const changes: Partial<Record<RecordKind, Change>> = {};
  const samples: DifferenceSample[] = [];
  for (const kind of RECORD_KINDS) {
    const sql =
      kind === 'events'
        ? changedEvents(earlier, later, earlierSequence)
        : changedRecords(recordsOf(kind, earlier), recordsOf(kind, later));
    await fillTemporary(connection, 'differences', sql);
    changes[kind] = await countChanges(connection, tableIn(later, TABLE_OF[kind]));
    samples.push(...(await readSamples(connection, kind)));
  }
  return { changes: changes as Changes, samples };
}

const REVERSED = { added: 'deleted', deleted: 'added', changed: 'changed' } as const;

/** The same differences in the other direction. */
export function reversed({ changes, samples }: VersionDifference): VersionDifference {
  const turned = RECORD_KINDS.map((kind) => {
    const { added, deleted, ...others } = changes[kind];
    return [kind, { ...others, added: deleted, deleted: added }];
  });
  const ofKind = (kind: RecordKind) =>
    samples
      .filter((sample) => sample.kind === kind)
      .map((sample) => ({ ...sample, change: REVERSED[sample.change] }))
      .sort((one, other) => one.change.localeCompare(other.change));
  return { changes: Object.fromEntries(turned), samples: RECORD_KINDS.flatMap(ofKind) };
}

async function countChanges(connection: DuckDBConnection, table: string): Promise<Change> {
  const of = (change: string) => `(FROM differences WHERE change = '${change}')`;
  const [added, changed, deleted, all] = await countRows(connection, [
    of('added'),
    of('changed'),
    of('deleted'),
    table,
  ]);
  return { added, changed, unchanged: all - added - changed, deleted };
}

async function readSamples(connection: DuckDBConnection, kind: RecordKind): Promise<DifferenceSample[]> {
  const rows = await runRows(
    connection,
    `SELECT change, record FROM differences
     QUALIFY row_number() OVER (PARTITION BY change ORDER BY place, record) <= ${SAMPLES}
     ORDER BY change, place, record`,
  );
  return rows.map(([change, record]) => ({
    kind,
    change: text(change) as DifferenceSample['change'],
    record: text(record),
  }));
}

function tableIn({ file, format }: ComparedVersion, table: CopiedTable): string {
  return tableOf(table, format, file);
}

/**
 * The records of a kind: `key` identifies one of several equal ones, `content` is everything that
 * it says, `place` orders them, and `record` names it for people.
 */
function recordsOf(kind: Exclude<RecordKind, 'events'>, version: ComparedVersion): string {
  const inside = (table: CopiedTable) => tableIn(version, table);
  if (kind === 'users' || kind === 'boards' || kind === 'pins') {
    const said = comparedFields(kind, 't').map(([column, value]) => `${column}: ${value}`);
    const label = kind === 'users' ? 't.name' : 't.title';
    return `
      SELECT t.id::VARCHAR AS key, t.id AS place, t.id || ' ' || ${label} AS record,
        {${said.join(', ')}, more: ${moreOf(kind)}} AS content
      FROM ${inside(kind)} t ${joinedOf(kind, inside)}`;
  }
  const columns = {
    memberships: "'' AS said",
    points: "t.total_points || ' ' || t.participation_score AS said",
    adjustments: "t.points || ' ' || t.timestamp_ms || ' ' || t.reason AS said",
  }[kind];
  const pairs = `
    SELECT b.id AS board_id, u.id AS user_id, ${columns}
    FROM ${inside(TABLE_OF[kind])} t JOIN ${inside('boards')} b ON b.ix = t.board JOIN ${inside('users')} u ON u.ix = t.person`;
  const key = kind === 'adjustments' ? `|| ' ' || said || ' ' || repeat` : '';
  return `
    SELECT board_id || ' ' || user_id ${key} AS key, board_id AS place, said AS content,
      'board ' || board_id || ', user ' || user_id AS record
    FROM (SELECT *, row_number() OVER (PARTITION BY board_id, user_id, said) AS repeat FROM (${pairs}))`;
}

/** What a record says in other tables, as one text. */
function moreOf(kind: ThingTable): string {
  if (kind === 'users') return 'p.properties';
  return kind === 'pins' ? "coalesce(b.id, 0) || ' ' || coalesce(o.id, 0)" : "''";
}

function joinedOf(kind: ThingTable, inside: (table: CopiedTable) => string): string {
  if (kind === 'boards') return '';
  if (kind === 'pins') {
    return `LEFT JOIN ${inside('boards')} b ON b.ix = t.board LEFT JOIN ${inside('users')} o ON o.ix = t."owner"`;
  }
  return `LEFT JOIN (
    SELECT person, string_agg(property || '=' || value, ';' ORDER BY property) AS properties
    FROM ${inside('user_properties')} GROUP BY person) p ON p.person = t.ix`;
}

function changedRecords(earlier: string, later: string): string {
  return `
    SELECT CASE WHEN e.key IS NULL THEN 'added' WHEN l.key IS NULL THEN 'deleted' ELSE 'changed' END AS change,
      coalesce(l.record, e.record) AS record, coalesce(l.place, e.place) AS place
    FROM (${earlier}) e FULL JOIN (${later}) l ON l.key = e.key
    WHERE e.content IS DISTINCT FROM l.content OR e.key IS NULL OR l.key IS NULL`;
}

/**
 * Events of the earlier version that were not deleted since are in both, and only their body can
 * have changed; a restored event is in both as well, although it has a new sequence.
 */
function changedEvents(earlier: ComparedVersion, later: ComparedVersion, earlierSequence: number): string {
  const deleted = hasHistory(later.format)
    ? `SELECT sequence FROM ${inFile(later, 'deleted_events')} WHERE deleted > ${earlierSequence}`
    : 'SELECT 0 LIMIT 0';
  const gone = eventsOf(earlier, `t.sequence IN (${deleted})`);
  const come = eventsOf(later, `t.sequence > ${earlierSequence}`);
  const bodies = (version: ComparedVersion) =>
    `(SELECT sequence, ${textOrDigest('body')} AS body FROM ${tableIn(version, 'events')} WHERE body IS NOT NULL)`;
  const rewritten = `
    SELECT sequence FROM ${bodies(earlier)} e FULL JOIN ${bodies(later)} l USING (sequence)
    WHERE e.body IS DISTINCT FROM l.body`;
  const changed = eventsOf(later, `t.sequence <= ${earlierSequence} AND t.sequence IN (${rewritten})`);
  return `
    SELECT change, timestamp_ms AS place,
      type || '.' || action || ' by user ' || actor_id || ' on board ' || board_id || ' at ' ||
        strftime(make_timestamp(timestamp_ms * 1000), '%Y-%m-%dT%H:%M:%SZ') AS record
    FROM (
      SELECT 'added' AS change, * FROM (${come} EXCEPT ALL ${gone})
      UNION ALL SELECT 'deleted', * FROM (${gone} EXCEPT ALL ${come})
      UNION ALL SELECT 'changed', * FROM (${changed})
    )`;
}

function eventsOf(version: ComparedVersion, where: string): string {
  const events = `(SELECT * REPLACE (${textOrDigest('body')} AS body) FROM ${tableIn(version, 'events')})`;
  const found = identifiedEvents((table) => (table === 'events' ? events : tableIn(version, table)), where);
  return `SELECT * EXCLUDE (sequence) FROM (${found})`;
}

function inFile({ file }: ComparedVersion, table: string): string {
  return file === undefined ? table : `${file}.${table}`;
}
