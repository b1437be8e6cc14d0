/**
 * What a publication has changed that the records and events themselves do not tell, for servers
 * that have the version before in memory (decision 47).
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { runRows } from '../database.ts';

/** A server that is further behind reads the whole version. */
const KEPT_VERSIONS = 16;
/** With more records or events, reading the whole version takes hardly longer. */
export const MOST_CHANGES = 65_536;
/** As many events change the actor and the owner of each, and what both have earned. */
const MOST_PAIRS = 4 * MOST_CHANGES;

interface VersionChanges {
  readonly version: string;
  /** The version of which the file was a copy; absent for a first version. */
  readonly before: string | undefined;
  readonly lastSequence: number;
  /** Whether users or their LMS properties are new or have changed. */
  readonly hasUsers: boolean;
  /** Whether users, points or awards may have changed on any board. */
  readonly ofAllBoards: boolean;
}

/** Records the changes of a publication, after its points. */
export async function recordChanges(connection: DuckDBConnection, changes: VersionChanges): Promise<void> {
  const { version, before, lastSequence, hasUsers, ofAllBoards } = changes;
  const pairs = ofAllBoards ? null : await recordPairs(connection, lastSequence);
  await runRows(
    connection,
    'INSERT INTO version_changes VALUES ($version, $before, $lastSequence, $hasUsers = 1, $pairs)',
    {
      ...{ version, before: before ?? null, lastSequence: BigInt(lastSequence) },
      ...{ hasUsers: hasUsers ? 1 : 0, pairs },
    },
  );
  await connection.run(FORGET_EARLIER);
}

/**
 * Returns the number of pairs; null for more than are worth it, and after the upgrade of a file.
 */
async function recordPairs(connection: DuckDBConnection, lastSequence: number): Promise<number | null> {
  await connection.run(PUBLISHED_PAIRS);
  const [row] = await runRows(connection, PAIRS_TO_RECORD);
  const [pairs, entries, versions] = (row ?? []).map(Number);
  if (pairs! + entries! > MOST_PAIRS || versions === 0) return null;
  await connection.run(`INSERT INTO changed_pairs SELECT ${lastSequence}, * FROM published_pairs`);
  return pairs!;
}

/** The pairs whose rows may have changed, with those rows (`derived-tables`, `points-tables`). */
const PUBLISHED_PAIRS = `
  CREATE OR REPLACE TEMP TABLE published_pairs AS
  WITH earned AS (
    SELECT board, person, timestamp_ms, points FROM touched_awards WHERE outcome = 'counted'
    UNION ALL SELECT board, person, timestamp_ms, points FROM touched_adjustments
  )
  SELECT board, person, b.present IS NOT NULL AS on_board, s.total_points, s.participation_score,
    i.total_points IS NOT NULL AS imported, e.earned
  FROM touched_standings
  LEFT JOIN touched_board_people b USING (board, person)
  LEFT JOIN fresh_standings s USING (board, person)
  LEFT JOIN imported_points i USING (board, person)
  LEFT JOIN (
    SELECT board, person, list({timestamp_ms: timestamp_ms, points: points}) AS earned FROM earned GROUP BY ALL
  ) e USING (board, person)`;

const PAIRS_TO_RECORD = `
  SELECT count(*), coalesce(sum(len(earned)), 0), (SELECT count(*) FROM version_changes) FROM published_pairs`;

/** Keeps the latest publications, and no more pairs than one publication may have. */
const FORGET_EARLIER = `
  DELETE FROM version_changes WHERE last_sequence NOT IN (
    SELECT last_sequence FROM (
      SELECT last_sequence, row_number() OVER latest AS place, sum(pairs) OVER latest AS total FROM version_changes
      WINDOW latest AS (ORDER BY last_sequence DESC)
    ) WHERE place <= ${KEPT_VERSIONS} AND coalesce(total, 0) <= ${MOST_PAIRS});
  DELETE FROM changed_pairs WHERE last_sequence NOT IN (
    SELECT last_sequence FROM version_changes WHERE pairs IS NOT NULL)
    OR last_sequence < (SELECT max(last_sequence) FROM version_changes WHERE pairs IS NULL);`;
