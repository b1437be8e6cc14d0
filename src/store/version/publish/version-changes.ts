/**
 * What a publication has changed that the records and events themselves do not tell, for servers
 * that have the version before in memory (decision 47).
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { runRows } from '../database.ts';

/** A server that is further behind reads the whole version. */
const KEPT_VERSIONS = 16;
/** With more boards, events or records, reading the whole version takes hardly longer. */
export const MOST_CHANGES = 65_536;

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
  await runRows(
    connection,
    `INSERT INTO version_changes
     SELECT $version, $before, $lastSequence, ${hasUsers}, ${ofAllBoards ? 'NULL' : `(${BOARDS})`}`,
    { version, before: before ?? null, lastSequence: BigInt(lastSequence) },
  );
  await connection.run(`
    DELETE FROM version_changes WHERE last_sequence NOT IN (
      SELECT last_sequence FROM version_changes ORDER BY last_sequence DESC LIMIT ${KEPT_VERSIONS})`);
}

/** Null for more boards than are worth it, and after the upgrade of a file. */
const BOARDS = `
  SELECT CASE
    WHEN count(*) <= ${MOST_CHANGES} AND (SELECT count(*) FROM version_changes) > 0 THEN coalesce(list(board), [])
  END
  FROM (SELECT board FROM touched_people UNION SELECT board FROM touched_standings)`;
