/**
 * What a publication has changed that the records and events themselves do not tell, for servers
 * that have the version before in memory (decision 47).
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { runRows } from '../database.ts';
import { earnings, touchedRows } from './points-tables.ts';

/** A server that is further behind reads the whole version. */
const KEPT_VERSIONS = 16;
/** With more records or events, reading the whole version takes hardly longer. */
export const MOST_CHANGES = 65_536;
/** An event touches its actor and its owner. */
const MOST_PAIRS = 2 * MOST_CHANGES;
/** All counted awards and adjustments of the pairs are listed, also earlier ones. */
const MOST_ENTRIES = 16 * MOST_CHANGES;

interface VersionChanges {
  readonly version: string;
  /** The version of which the file was a copy; absent for a first version. */
  readonly before: string | undefined;
  readonly lastSequence: number;
  /** Whether users or their LMS properties are new or have changed. */
  readonly hasUsers: boolean;
  /** Whether derived tables and points have changed for touched pairs alone. */
  readonly isOfPairs: boolean;
}

interface Listed {
  readonly pairs: number;
  readonly entries: number;
}

/** Records the changes of a publication, after its points. */
export async function recordChanges(connection: DuckDBConnection, changes: VersionChanges): Promise<void> {
  const { version, before, lastSequence, hasUsers, isOfPairs } = changes;
  const listed = isOfPairs ? await listPairs(connection, lastSequence) : undefined;
  await runRows(
    connection,
    `INSERT INTO version_changes VALUES ($version, $before, $lastSequence, ${hasUsers}, $pairs, $entries)`,
    {
      version,
      before: before ?? null,
      lastSequence: BigInt(lastSequence),
      pairs: listed?.pairs ?? null,
      entries: listed?.entries ?? null,
    },
  );
  await connection.run(FORGET_EARLIER);
}

/** Undefined for more than is worth it, and after the upgrade of a file. */
async function listPairs(connection: DuckDBConnection, lastSequence: number): Promise<Listed | undefined> {
  const earned = earnings(touchedRows);
  const [row] = await runRows(
    connection,
    `SELECT (SELECT count(*) FROM touched_standings), (SELECT count(*) FROM (${earned})),
       (SELECT count(*) FROM version_changes)`,
  );
  const [pairs = 0, entries = 0, versions = 0] = (row ?? []).map(Number);
  if (pairs > MOST_PAIRS || entries > MOST_ENTRIES || versions === 0) return undefined;
  await connection.run(`
    INSERT INTO changed_pairs SELECT ${lastSequence}, * FROM (${TOUCHED_PAIRS});
    INSERT INTO changed_earnings SELECT ${lastSequence}, * FROM (${earned});`);
  return { pairs, entries };
}

const TOUCHED_PAIRS = `
  SELECT board, person, b.present IS NOT NULL, s.total_points, s.participation_score, i.total_points IS NOT NULL
  FROM touched_standings
  LEFT JOIN touched_board_people b USING (board, person)
  LEFT JOIN fresh_standings s USING (board, person)
  LEFT JOIN imported_points i USING (board, person)`;

/** Keeps the latest publications, and no more rows than one publication may have. */
const FORGET_EARLIER = `
  DELETE FROM version_changes WHERE last_sequence NOT IN (
    SELECT last_sequence FROM (
      SELECT last_sequence, row_number() OVER latest AS place, coalesce(sum(pairs) OVER latest, 0) AS pairs,
        coalesce(sum(entries) OVER latest, 0) AS entries
      FROM version_changes WINDOW latest AS (ORDER BY last_sequence DESC)
    ) WHERE place <= ${KEPT_VERSIONS} AND pairs <= ${MOST_PAIRS} AND entries <= ${MOST_ENTRIES});
  ${['changed_pairs', 'changed_earnings']
    .map(
      (table) => `
  DELETE FROM ${table} WHERE last_sequence NOT IN (SELECT last_sequence FROM version_changes)
    OR last_sequence < (SELECT max(last_sequence) FROM version_changes WHERE pairs IS NULL);`,
    )
    .join('')}`;
