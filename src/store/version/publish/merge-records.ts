/**
 * Merges staged users, boards and pins into the published ones: field by field, with new ones at
 * the end.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { THING_CLOCKS } from '../../../domain/user-clocks.ts';
import type { Change } from '../../store.ts';
import { columnsOf, mergedColumns, quoted, type ThingTable } from '../../version-tables.ts';
import { fillTemporary, runRows } from '../database.ts';

/** Changes by merging a kind of record. */
export type MergedRecords = Omit<Change, 'deleted'>;

/** A sort holds the texts of its rows in memory, so more text is inserted in portions. */
const PORTION_BYTES = 64e6;

/**
 * Merges field by field: the value of the last record that gives the field, or else the published
 * value, or else the default. `staged`: rows with `id`, `n` and the merged columns.
 */
export async function mergeRecords(
  connection: DuckDBConnection,
  table: 'boards' | 'pins',
  revised: number,
  staged = `staged_${table}`,
): Promise<MergedRecords> {
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
  const rows = `SELECT t.ix, g.id, ${merged.join(', ')}, g.n FROM (${given}) g LEFT JOIN ${table} t ON t.id = g.id`;
  return await applyMerged(connection, table, rows, THING_CLOCKS, revised);
}

/**
 * Writes the rows of the query `merged` (ix or null, id, the columns, n) into a table of users,
 * boards or pins. Changed rows that were known before are kept as the table `altered_users`,
 * `altered_boards` or `altered_pins`. `clocks`: columns of sequences, after the others, each with
 * the condition under which a change sets it to `revised`.
 */
export async function applyMerged(
  connection: DuckDBConnection,
  table: ThingTable,
  merged: string,
  clocks: Readonly<Record<string, string>>,
  revised: number,
): Promise<MergedRecords> {
  const all = await fillTemporary(
    connection,
    'merged',
    `SELECT *, ${bytesOf(table)} AS bytes FROM (${merged})`,
  );
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
  const listed = ['ix', 'id', ...columns, ...Object.keys(clocks)].join(', ');
  await connection.run(`
    DELETE FROM ${table} WHERE ix IN (SELECT ix FROM altered_${table});
    INSERT INTO ${table} BY NAME SELECT ${listed} FROM altered_${table} ORDER BY ix;`);
  const revisions = Object.keys(clocks).map((clock) => `${revised} AS ${clock}`);
  const added = await insertNew(connection, table, [...columns, ...revisions].join(', '));
  return { added, changed, unchanged: all - added - changed };
}

/** Inserts the new rows of `merged` in their order, and returns their number. */
async function insertNew(connection: DuckDBConnection, table: ThingTable, columns: string): Promise<number> {
  const [sums] = await runRows(
    connection,
    'SELECT count(*), coalesce(sum(bytes), 0)::BIGINT FROM merged WHERE ix IS NULL',
  );
  const [added = 0, bytes = 0] = (sums ?? []).map(Number);
  for (const part of bytes > PORTION_BYTES ? await portionsOfNew(connection) : ['']) {
    await connection.run(`
      INSERT INTO ${table} BY NAME
      SELECT (SELECT count(*) FROM ${table}) + row_number() OVER (ORDER BY n) - 1 AS ix, id, ${columns}
      FROM merged WHERE ix IS NULL ${part} ORDER BY n`);
  }
  return added;
}

/** Conditions that divide the new rows, in their order, into portions of about `PORTION_BYTES`. */
async function portionsOfNew(connection: DuckDBConnection): Promise<string[]> {
  const ends = await runRows(
    connection,
    `SELECT max(n) FROM (
       SELECT n, sum(bytes) OVER (ORDER BY n) // ${PORTION_BYTES} AS portion FROM merged WHERE ix IS NULL
     ) GROUP BY portion ORDER BY portion`,
  );
  return ends.map(([end], at) => `AND n > ${at === 0 ? -1 : ends[at - 1]?.[0]} AND n <= ${end}`);
}

/** SQL for the bytes of all texts of a row. */
function bytesOf(table: ThingTable): string {
  const texts = columnsOf(table).filter(({ type }) => type === 'text');
  return texts.map(({ name }) => `coalesce(strlen(${quoted(name)}), 0)`).join(' + ');
}
