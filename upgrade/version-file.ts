/** Writes a version of Corkboard 0.1 as one DuckDB file. Nothing is recomputed (decision 46). */

import { Database } from '../src/store/version/database.ts';
import { appendInOrder } from '../src/store/version/publish/layout.ts';
import { MISSING_STANDINGS } from '../src/store/version/publish/points-tables.ts';
import { GENERATION_SCHEMA } from '../src/store/version/publish/schema.ts';
import { writeVersion } from '../src/store/version/version-row.ts';
import { type CopiedTable, TABLE_NAMES } from '../src/store/version-tables.ts';
import { appendRows } from './appended-rows.ts';
import type { OldVersion } from './old-database.ts';

const MEMORY_BYTES = 768e6;

/** Copies of the events in the other orders in which they are read. */
const ORDERED_COPIES = ['board_events', 'actor_events'] as const;
const ORDERED_COLUMNS = 'sequence, kind, actor, "owner", board, pin, timestamp_ms';

/**
 * Neither `file` nor `spillFolder` may exist yet. Calls `onRows` with the number of rows read from
 * a table.
 */
export async function writeVersionFile(
  { entry, facts, rows }: OldVersion,
  file: string,
  spillFolder: string,
  onRows: (table: CopiedTable, count: number) => void,
): Promise<void> {
  const database = await Database.open(file, {
    ...{ readOnly: false, memoryBytes: MEMORY_BYTES, spillFolder },
  });
  const connection = await database.connect();
  try {
    await connection.run(GENERATION_SCHEMA);
    for (const table of TABLE_NAMES) {
      await appendRows(connection, table, rows(table), (count) => onRows(table, count));
    }
    for (const copy of ORDERED_COPIES) {
      await appendInOrder(connection, copy, `SELECT ${ORDERED_COLUMNS} FROM events`);
    }
    // Corkboard 0.1 had no points totals for users with awards who never acted (decision 72).
    await appendInOrder(connection, 'standings', MISSING_STANDINGS);
    await writeVersion(connection, entry.settings, facts);
    await connection.run('CHECKPOINT');
  } finally {
    connection.closeSync();
    database.close();
  }
}
