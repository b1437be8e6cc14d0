/** Merging staged things (users, boards, pins) into those published: field by field, added ones at the end. */
import type { Change } from '../store.ts';
import { THING_CLOCKS } from '../user-clocks.ts';
import type { Draft } from './draft.ts';

/** What the last record says that meets the condition and gives the field, among those of a group. */
export function latest(column: string, condition = 'true'): string {
  return `(array_agg(${column} ORDER BY n DESC) FILTER (WHERE ${column} IS NOT NULL AND ${condition}))[1]`;
}

/**
 * Replaces field by field: what the last record that gives a field says, else what is published, else the default.
 * `columns`: name to default, in the order of the table after `ix` and `id`. `staged`: rows with `id`, `n` and those.
 * `held`: how many there are.
 */
export async function mergeThings(
  draft: Draft,
  table: 'boards' | 'pins',
  held: number,
  columns: Readonly<Record<string, string>>,
  revised: number,
  staged = `staged_${table}`,
): Promise<Change> {
  const names = Object.keys(columns);
  const merged = names.map((name) => `coalesce(g.${name}, t.${name}, ${columns[name]}) AS ${name}`);
  const lasts = names.map((name) => `${latest(name)} AS ${name}`);
  // To look for the last of one record takes longer than to take it.
  const given = (await hasRepeats(draft, `staged_${table}`))
    ? `SELECT id, min(n) AS n, ${lasts.join(', ')} FROM ${staged} s GROUP BY id`
    : `SELECT id, n, ${names.join(', ')} FROM ${staged} s`;
  await draft.keep(
    'merged',
    `SELECT t.ix, g.id, ${merged.join(', ')}, g.n FROM (${given}) g LEFT JOIN ${table} t ON t.id = g.id`,
  );
  return await applyMerged(draft, table, held, names, THING_CLOCKS, revised);
}

async function hasRepeats(draft: Draft, staged: string): Promise<boolean> {
  const [row] = await draft.rows(`SELECT EXISTS (SELECT FROM ${staged} GROUP BY id HAVING count(*) > 1)`);
  return row?.[0] === true;
}

/**
 * Writes the temporary table `merged` (ix or null, id, the columns, n) into a table of things.
 * Leaves those that were known and are now different as the table `altered_users` and the like.
 * `clocks`: columns of sequences, with the condition that a change meets to move them to `revised`.
 */
export async function applyMerged(
  draft: Draft,
  table: 'users' | 'boards' | 'pins',
  held: number,
  columns: readonly string[],
  clocks: Readonly<Record<string, string>>,
  revised: number,
): Promise<Change> {
  const moved = Object.entries(clocks).map(
    ([clock, isMoved]) => `CASE WHEN ${isMoved} THEN ${revised}::bigint ELSE t.${clock} END AS ${clock}`,
  );
  const differs = columns.map((name) => `m.${name} IS DISTINCT FROM t.${name}`).join(' OR ');
  const altered = `altered_${table}`;
  await draft.keep(
    altered,
    `SELECT m.*, ${moved.join(', ')} FROM merged m JOIN ${table} t ON t.ix = m.ix WHERE ${differs}`,
  );
  const [changed, added, all] = await draft.count([
    altered,
    '(SELECT FROM merged WHERE ix IS NULL)',
    'merged',
  ]);
  const listed = columns.join(', ');
  const names = Object.keys(clocks);
  if (changed > 0) {
    await draft.end(table, `t.ix IN (SELECT ix FROM ${altered})`);
    await draft.add(
      table,
      `ix, id, ${listed}, ${names.join(', ')}`,
      `SELECT ix, id, ${listed}, ${names.join(', ')} FROM ${altered} ORDER BY ix`,
    );
  }
  // Nothing is ever taken away, so that indices are dense.
  await draft.add(
    table,
    `ix, id, ${listed}, ${names.join(', ')}`,
    `SELECT ${held} + row_number() OVER (ORDER BY n) - 1, id, ${listed},
       ${names.map(() => `${revised}::bigint`).join(', ')} FROM merged WHERE ix IS NULL ORDER BY n`,
  );
  return { added, changed, unchanged: all - added - changed };
}
