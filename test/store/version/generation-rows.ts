/** The content of a version file, read without the store. */
import { DuckDBInstance } from '@duckdb/node-api';

/**
 * Results that must be the same in whatever order the records came; sequences by rank, since they
 * have gaps.
 */
const RANKED = '(SELECT *, rank() OVER (ORDER BY sequence) AS place FROM events)';
const TABLES = {
  events: `SELECT * EXCLUDE (sequence, publication) FROM ${RANKED}`,
  board_events: `SELECT b.* EXCLUDE (sequence), place FROM board_events b JOIN ${RANKED} USING (sequence)`,
  actor_events: `SELECT a.* EXCLUDE (sequence), place FROM actor_events a JOIN ${RANKED} USING (sequence)`,
  user_created: 'FROM user_created',
  board_created: 'FROM board_created',
  board_people: 'FROM board_people',
  policies: 'FROM policies',
  board_policies: 'FROM board_policies',
  awards: `SELECT a.* EXCLUDE (sequence), place FROM awards a JOIN ${RANKED} USING (sequence)`,
  standings: 'FROM standings',
};

export interface GenerationRows {
  /** Every row as text, in an order that does not depend on its position in the file. */
  readonly tables: Readonly<Record<string, string[]>>;
  /** The number of rows out of order, by table. */
  readonly outOfOrder: Readonly<Record<string, number>>;
}

export async function readGeneration(file: string): Promise<GenerationRows> {
  const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  const tables: Record<string, string[]> = {};
  for (const [name, sql] of Object.entries(TABLES)) {
    const result = await connection.runAndReadAll(`SELECT t::VARCHAR FROM (${sql}) t ORDER BY ALL`);
    tables[name] = result.getRows().map(String);
  }
  const parts = await connection.runAndReadAll('SELECT name, sum(rows) FROM out_of_order GROUP BY name');
  const outOfOrder = Object.fromEntries(parts.getRows().map(([name, rows]) => [String(name), Number(rows)]));
  connection.closeSync();
  instance.closeSync();
  return { tables, outOfOrder };
}
