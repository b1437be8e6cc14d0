/**
 * Divides the rows of a query into portions that are sorted, joined or aggregated one after the
 * other. DuckDB fails if what it must keep of a sort, a join or an aggregate does not fit into its
 * memory, even though it may write to disk: 2 GB in texts of 8 kB fail in 768 MB, and so do the
 * joins for the points totals of 40 million events in 256 MB.
 */
import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import { runRows } from './database.ts';

/** Sorting takes several times as much memory as the texts. */
const PORTION_BYTES = 16_000_000;
/** For joins, which take less memory, and whose other tables are read again for each portion. */
export const JOINED_BYTES = 64_000_000;

interface Divisible {
  /** A table, or a query in parentheses. */
  readonly source: string;
  /** An integer without nulls, by which the rows are sorted first. */
  readonly key: string;
  /** SQL for how much a row counts: mostly the bytes of its texts. */
  readonly size: string;
}

/**
 * Conditions on the key, in its order, which together select every row. Each selects at most
 * `portionSize` and the rows of one more key, because rows with the same key are not divided. Only
 * one, `true`, if all rows together count less.
 */
export async function portionsOf(
  read: (sql: string) => Promise<DuckDBValue[][]>,
  { source, key, size }: Divisible,
  portionSize = PORTION_BYTES,
): Promise<readonly string[]> {
  const [[total] = []] = await read(`SELECT coalesce(sum(${size}), 0) FROM ${source}`);
  if (Number(total) <= portionSize) return ['true'];
  const starts = await read(`
    WITH keys AS (SELECT ${key} AS key, sum(${size}) AS size FROM ${source} WHERE ${size} > 0 GROUP BY 1),
    places AS (SELECT key, (sum(size) OVER (ORDER BY key) - size) // ${portionSize} AS portion FROM keys)
    SELECT min(key) FROM places GROUP BY portion ORDER BY 1`);
  return between(key, starts.slice(1).flat());
}

/** Conditions on the key that divide its values at `bounds`, which are integers and ascending. */
export function between(key: string, bounds: readonly DuckDBValue[]): readonly string[] {
  return [...bounds, undefined].map((bound, at) => {
    const from = at === 0 ? 'true' : `${key} >= ${bounds[at - 1]}`;
    return bound === undefined ? from : `${from} AND ${key} < ${bound}`;
  });
}

/** The same on a connection. */
export async function portionsIn(
  connection: DuckDBConnection,
  divisible: Divisible,
  portionSize?: number,
): Promise<readonly string[]> {
  return await portionsOf((sql) => runRows(connection, sql), divisible, portionSize);
}
