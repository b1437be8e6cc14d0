/** What the version in force of an organization holds in PostgreSQL, read past the store, as `readGeneration` tells it. */
import { Database } from '../../src/dataset/postgres/database.ts';
import { rowsAt, type Table } from '../../src/dataset/postgres/schema.ts';

/** Answers that must be the same however the records came; sequences by their rank, since they leave gaps. */
const COLUMNS = {
  events: ['place', 'id', 'kind', 'actor', 'owner', 'board', 'pin', 'timestamp_ms'],
  user_created: ['ix', 'created_ms'],
  board_created: ['ix', 'created_ms'],
  board_people: ['board', 'person', 'present'],
  policies: ['policy', 'goal', 'weekly_maximum', 'percent', 'from_ms', 'until_ms'],
  board_policies: ['board', 'policy'],
  awards: ['board', 'person', 'place', 'timestamp_ms', 'rule', 'points', 'outcome', 'week_ms'],
  standings: ['board', 'person', 'total_points', 'participation_score'],
} as const satisfies Partial<Record<Table, readonly string[]>>;

export async function readVersionRows(
  url: string,
  name: string,
): Promise<Readonly<Record<string, string[]>>> {
  const database = new Database(url);
  const [entry] = await database.rows('SELECT organization, publication FROM organizations WHERE name = $1', [
    name,
  ]);
  const at = { organization: Number(entry?.[0]), publication: Number(entry?.[1]) };
  const places = `(SELECT sequence, rank() OVER (ORDER BY sequence) AS place FROM ${rowsAt(at, 'events')}) places`;
  const tables: Record<string, string[]> = {};
  for (const [table, columns] of Object.entries(COLUMNS)) {
    const list = columns.map((column) => (column === 'owner' ? '"owner"' : column)).join(', ');
    const ranked = (columns as readonly string[]).includes('place') ? `JOIN ${places} USING (sequence)` : '';
    const rows = await database.rows(
      `SELECT ${list} FROM ${rowsAt(at, table as keyof typeof COLUMNS)} ${ranked} ORDER BY ${list}`,
    );
    tables[table] = rows.map(
      (row) => `{${row.map((value, index) => `'${columns[index]}': ${value}`).join(', ')}}`,
    );
  }
  await database.close();
  return tables;
}
