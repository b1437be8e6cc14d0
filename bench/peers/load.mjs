/** Fills an empty database with a bundle of the benchmark. Argument: the folder of the bundle. */
import { createReadStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';

const BATCH_ROWS = 2_000;
const folder = process.argv[2] ?? '.';
const client = new pg.Client({ connectionString: process.env['DATABASE_URL'] });
await client.connect();
await client.query(readFileSync(join(import.meta.dirname, 'schema.sql'), 'utf8'));
await client.query("INSERT INTO organizations VALUES (1, 'bench', '', 0)");
await insert('persons', 'users.csv', (line) => {
  const [id, email, first, last, role, classRole] = line.split(',');
  return { id, email, name: `${first} ${last}`, role, class_role: classRole };
});
await insert('boards', 'boards.csv', (line) => {
  const [id, title, category] = line.split(',');
  return { id, title, category };
});
await insert('pins', 'pins.ndjson', (line) => JSON.parse(line));
await insert('events', 'events.csv', (line) => {
  const [id, type, action, owner_id, actor_id, board_id, pin_id, at] = line.split(',');
  return {
    ...{ id, type, action, owner_id, actor_id, board_id, pin_id: pin_id || null, at },
    organization_id: 1,
  };
});
await client.query('CREATE INDEX ON events (board_id, at, id)');
await client.query('CREATE INDEX ON events (at, id)');
await client.query('VACUUM ANALYZE');
await client.end();

/** The bundle has no quoted cells. */
async function insert(table, file, rowOf) {
  const path = join(folder, file);
  const flush = async (rows) => {
    const sql = `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1)`;
    await client.query(sql, [JSON.stringify(rows)]);
  };
  let rows = [];
  let first = file.endsWith('.csv');
  for await (const line of createInterface({ input: createReadStream(path) })) {
    if (!first) rows.push(rowOf(line));
    first = false;
    if (rows.length < BATCH_ROWS) continue;
    await flush(rows);
    rows = [];
  }
  if (rows.length > 0) await flush(rows);
}
