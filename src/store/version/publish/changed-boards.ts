/**
 * The boards on which a publication has changed users, points or awards, for servers that have the
 * version before in memory (decision 47).
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { runRows } from '../database.ts';

/** A server that is further behind reads the whole version. */
const KEPT_PUBLICATIONS = 16;
/** With more boards, reading the whole version takes hardly longer. */
const MOST_BOARDS = 65_536;

/**
 * Records the boards of a publication after its points. `all`: it may have changed any board. If
 * the table is empty, that is assumed: the version is the first one, or its file has been upgraded.
 */
export async function recordChangedBoards(
  connection: DuckDBConnection,
  publication: number,
  all: boolean,
): Promise<void> {
  await runRows(
    connection,
    `INSERT INTO changed_boards SELECT $publication, ${all ? 'NULL' : `(${BOARDS})`}`,
    { publication: BigInt(publication) },
  );
  await connection.run(`DELETE FROM changed_boards WHERE publication <= ${publication - KEPT_PUBLICATIONS}`);
}

const BOARDS = `
  SELECT CASE
    WHEN count(*) <= ${MOST_BOARDS} AND (SELECT count(*) FROM changed_boards) > 0 THEN coalesce(list(board), [])
  END
  FROM (SELECT board FROM touched_people UNION SELECT board FROM touched_standings)`;
