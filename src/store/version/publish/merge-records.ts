/**
 * Merges staged users, boards and pins into the published ones: field by field, with new ones at
 * the end.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { THING_CLOCKS } from '../../../domain/user-clocks.ts';
import type { Change } from '../../store.ts';
import { mergedColumns, type ThingTable } from '../../version-tables.ts';
import { countRows, fillTemporary, runRows } from '../database.ts';
import { bytesOfRow } from '../long-texts.ts';
import { JOINED_BYTES, portionsIn } from '../portions.ts';
import { stepsBack } from './layout.ts';

/** Changes by merging a kind of record. */
export type MergedRecords = Omit<Change, 'deleted'>;

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
  const known = await fillTemporary(
    connection,
    'known',
    `SELECT id FROM ${table} SEMI JOIN staged_${table} USING (id)`,
  );
  if (known === 0) {
    const fresh = names.map((name) => `coalesce(${name}, ${columns[name]}) AS ${name}`);
    const rows = `SELECT NULL::INTEGER AS ix, id, ${fresh.join(', ')}, n FROM (${given})`;
    return await applyMerged(connection, table, [rows], THING_CLOCKS, revised);
  }
  const sizes = `SELECT id, ${bytesOfRow(table)} AS bytes FROM staged_${table}`;
  const portions = await portionsWithKnown(connection, table, sizes, 'id');
  const rows = portions.map(
    (portion) =>
      `SELECT t.ix, g.id, ${merged.join(', ')}, g.n
       FROM (FROM (${given}) WHERE ${portion}) g LEFT JOIN (FROM ${table} WHERE ${portion}) t ON t.id = g.id`,
  );
  return await applyMerged(connection, table, rows, THING_CLOCKS, revised);
}

/** Up to this share of a table, DuckDB holds the known keys of a join in memory, not the table. */
const FEW_KNOWN = 1 / 16;

/**
 * Conditions on the key that divide rows, and the published ones that are in the table `known`.
 * `sizes`: a query for the key and the bytes of the rows.
 */
async function portionsWithKnown(
  connection: DuckDBConnection,
  table: ThingTable,
  sizes: string,
  key: 'id' | 'ix',
): Promise<readonly string[]> {
  const [known, all] = await countRows(connection, ['known', table]);
  const bytes = `SELECT ${key}, ${bytesOfRow(table)} AS bytes FROM ${table}`;
  // Of few known rows, only their own texts are read. Of many, the join gets sizes, not texts.
  const published =
    known < all * FEW_KNOWN
      ? `${bytes} SEMI JOIN known USING (${key})`
      : `FROM (${bytes}) SEMI JOIN known USING (${key})`;
  const source = `(${sizes} UNION ALL ${published})`;
  return await portionsIn(connection, { source, key, size: 'bytes' }, JOINED_BYTES);
}

/**
 * Writes the rows of the queries `merged` (ix or null, id, the columns, n) into a table of users,
 * boards or pins. Changed rows that were known before are kept as the table `altered_users`,
 * `altered_boards` or `altered_pins`. `clocks`: columns of sequences, after the others, each with
 * the condition under which a change sets it to `revised`.
 */
export async function applyMerged(
  connection: DuckDBConnection,
  table: ThingTable,
  merged: readonly string[],
  clocks: Readonly<Record<string, string>>,
  revised: number,
): Promise<MergedRecords> {
  const measured = merged.map((rows) => `SELECT *, ${bytesOfRow(table)} AS bytes FROM (${rows})`);
  const all = await fillTemporary(connection, 'merged', ...measured);
  const columns = Object.keys(mergedColumns(table));
  const moved = Object.entries(clocks).map(
    ([clock, isMoved]) => `CASE WHEN ${isMoved} THEN ${revised} ELSE t.${clock} END AS ${clock}`,
  );
  const differs = columns.map((name) => `m.${name} IS DISTINCT FROM t.${name}`).join(' OR ');
  await fillTemporary(connection, 'known', 'SELECT ix FROM merged WHERE ix IS NOT NULL');
  const sizes = 'SELECT ix, bytes FROM merged WHERE ix IS NOT NULL';
  const portions = await portionsWithKnown(connection, table, sizes, 'ix');
  const altered = portions.map(
    (portion) =>
      `SELECT m.*, ${moved.join(', ')}
       FROM (FROM merged WHERE ${portion}) m JOIN (FROM ${table} WHERE ${portion}) t ON t.ix = m.ix WHERE ${differs}`,
  );
  const changed = await fillTemporary(connection, `altered_${table}`, ...altered);
  const listed = ['ix', 'id', ...columns, ...Object.keys(clocks)].join(', ');
  await connection.run(`DELETE FROM ${table} WHERE ix IN (SELECT ix FROM altered_${table})`);
  for (const portion of portions)
    await connection.run(
      `INSERT INTO ${table} BY NAME SELECT ${listed} FROM altered_${table} WHERE ${portion} ORDER BY ix`,
    );
  const revisions = Object.keys(clocks).map((clock) => `${revised} AS ${clock}`);
  const added = await insertNew(connection, table, [...columns, ...revisions].join(', '));
  return { added, changed, unchanged: all - added - changed };
}

/** Inserts the new rows of `merged` in their order, and returns their number. */
async function insertNew(connection: DuckDBConnection, table: ThingTable, columns: string): Promise<number> {
  const source = '(FROM merged WHERE ix IS NULL)';
  const [before, back] = await countRows(connection, [table, stepsBack(source, 'n')]);
  // Rows in their order are not sorted, so that their texts need not fit into the memory.
  const order = back === 0 ? '' : 'ORDER BY n';
  const portions = back === 0 ? ['true'] : await portionsIn(connection, { source, key: 'n', size: 'bytes' });
  let added = 0;
  for (const portion of portions) {
    const [inserted] = await runRows(
      connection,
      `INSERT INTO ${table} BY NAME
       SELECT ${before + added} + row_number() OVER (${order}) - 1 AS ix, id, ${columns}
       FROM ${source} WHERE ${portion} ${order}`,
    );
    added += Number(inserted?.[0]);
  }
  return added;
}
