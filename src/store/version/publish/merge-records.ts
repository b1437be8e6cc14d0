/**
 * Merges staged users, boards and pins into the published ones: field by field, with new ones at
 * the end.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { THING_CLOCKS } from '../../../domain/user-clocks.ts';
import type { Change } from '../../store.ts';
import { mergedColumns } from '../../version-tables.ts';
import { countRows, fillTemporary } from '../database.ts';

/**
 * Merges field by field: the value of the last record that gives the field, or else the published
 * value, or else the default. `staged`: rows with `id`, `n` and the merged columns.
 */
export async function mergeRecords(
  connection: DuckDBConnection,
  table: 'boards' | 'pins',
  revised: number,
  staged = `staged_${table}`,
): Promise<Change> {
  const columns = mergedColumns(table);
  const names = Object.keys(columns);
  const latest = names.map((name) => `arg_max(${name}, n) FILTER (${name} IS NOT NULL) AS ${name}`);
  const merged = names.map((name) => `coalesce(g.${name}, t.${name}, ${columns[name]}) AS ${name}`);
  const repeated = await fillTemporary(
    connection,
    'repeated',
    `SELECT id FROM staged_${table} GROUP BY id HAVING count(*) > 1`,
  );
  // An aggregate holds all of its texts in memory, so only ids that occur several times need it.
  const single = (rows: string) => `SELECT id, n, ${names.join(', ')} FROM ${rows}`;
  const given =
    repeated === 0
      ? single(staged)
      : `${single(staged)} ANTI JOIN repeated USING (id)
         UNION ALL SELECT id, min(n), ${latest.join(', ')} FROM ${staged} SEMI JOIN repeated USING (id) GROUP BY id`;
  await connection.run(`
    CREATE OR REPLACE TEMP TABLE merged AS
    SELECT t.ix, g.id, ${merged.join(', ')}, g.n FROM (${given}) g LEFT JOIN ${table} t ON t.id = g.id`);
  return await applyMerged(connection, table, THING_CLOCKS, revised);
}

/**
 * Writes the temporary table `merged` (ix or null, id, the columns, n) into a table of users,
 * boards or pins. Changed rows that were known before are kept as the table `altered_users`,
 * `altered_boards` or `altered_pins`. `clocks`: columns of sequences, after the others, each with
 * the condition under which a change sets it to `revised`.
 */
export async function applyMerged(
  connection: DuckDBConnection,
  table: 'users' | 'boards' | 'pins',
  clocks: Readonly<Record<string, string>>,
  revised: number,
): Promise<Change> {
  const columns = Object.keys(mergedColumns(table));
  const moved = Object.entries(clocks).map(
    ([clock, isMoved]) => `CASE WHEN ${isMoved} THEN ${revised} ELSE t.${clock} END AS ${clock}`,
  );
  const differs = columns.map((name) => `m.${name} IS DISTINCT FROM t.${name}`).join(' OR ');
  const changed = await fillTemporary(
    connection,
    `altered_${table}`,
    `SELECT m.*, ${moved.join(', ')} FROM merged m JOIN ${table} t ON t.ix = m.ix WHERE ${differs}`,
  );
  const [added, all] = await countRows(connection, ['(FROM merged WHERE ix IS NULL)', 'merged']);
  const listed = columns.join(', ');
  const names = Object.keys(clocks);
  await connection.run(`
    DELETE FROM ${table} WHERE ix IN (SELECT ix FROM altered_${table});
    INSERT INTO ${table} BY NAME SELECT ix, id, ${listed}, ${names.join(', ')} FROM altered_${table} ORDER BY ix;
    INSERT INTO ${table} BY NAME
      SELECT (SELECT count(*) FROM ${table}) + row_number() OVER (ORDER BY n) - 1 AS ix, id, ${listed},
        ${names.map((name) => `${revised} AS ${name}`).join(', ')}
      FROM merged WHERE ix IS NULL ORDER BY n;`);
  return { added, changed, unchanged: all - added - changed };
}
