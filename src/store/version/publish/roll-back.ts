/**
 * Makes the content of an earlier version the next one (decision 83). The open file is a copy of
 * the earlier version, and the current one is attached. Afterwards, everything that differs from
 * the current version is a change or a deletion for clients that sync.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { THING_CLOCKS, USER_CLOCKS } from '../../../domain/user-clocks.ts';
import type { Changes } from '../../store.ts';
import { type CopiedTable, comparableColumns, type ThingTable } from '../../version-tables.ts';
import { fillTemporary, runRows } from '../database.ts';
import { comparedFields } from '../long-texts.ts';
import { compareVersions } from './compare-versions.ts';
import { emptyDerived } from './derived-tables.ts';
import { insertDeletedEvents } from './event-queries.ts';
import { readHistoryOf } from './history.ts';
import { EVENT_TABLES } from './layout.ts';
import { type MergePosition, nextSequence } from './merge-events.ts';
import type { NextVersion } from './next-version.ts';
import { FORMAT, hasHistory, tableOf } from './schema.ts';
import { verifyVersion } from './version-identity.ts';

/** The name under which the current version is attached. */
export const CURRENT = 'current_version';

export interface RolledBack {
  readonly changes: Changes;
  /** Whether derived tables are empty and must be computed again. */
  readonly isAnew: boolean;
}

/**
 * `format`: that of the current version. Throws `data-unreadable` when one of the files is not the
 * version that the other one or the catalog names.
 */
export async function rollBack(
  connection: DuckDBConnection,
  position: MergePosition,
  { base, current }: Pick<NextVersion, 'base' | 'current'>,
): Promise<{ readonly isAnew: boolean; readonly format: number }> {
  if (base === undefined || current === undefined) throw new Error('no earlier version is restored');
  const sequence = nextSequence(position);
  const ask = (sql: string) => runRows(connection, sql);
  const { format } = await verifyVersion(ask, current.expected, CURRENT);
  await verifyVersion(ask, { ...base, history: await readHistoryOf(ask, format, CURRENT) });
  const [row] = await runRows(connection, 'SELECT last_sequence FROM version');
  const restoredSequence = Number(row?.[0]);
  await takeHistory(connection, format);
  const inCurrent = (table: CopiedTable) => tableOf(table, format, CURRENT);
  const restored = await restoreEvents(connection, restoredSequence, position);
  // Events that were added since are deleted.
  await connection.run(insertDeletedEvents(inCurrent, `t.sequence > ${restoredSequence}`, sequence));
  for (const [table, clocks] of CLOCKS) await setClocks(connection, table, clocks, format, sequence);
  const isAnew = restored > 0;
  if (isAnew) await emptyDerived(connection);
  return { isAnew, format };
}

/** How the open file differs from the current version, once it is complete. */
export async function changesOfRollback(
  connection: DuckDBConnection,
  format: number,
  { lastSequence }: MergePosition,
): Promise<Changes> {
  const current = { file: CURRENT, format };
  return (await compareVersions(connection, current, { format: FORMAT }, lastSequence)).changes;
}

/** Deletions and publications since the earlier version have happened nevertheless. */
async function takeHistory(connection: DuckDBConnection, format: number): Promise<void> {
  await connection.run('DELETE FROM deleted_events; DELETE FROM publications;');
  if (!hasHistory(format)) return;
  await connection.run(`
    INSERT INTO deleted_events FROM ${CURRENT}.deleted_events;
    INSERT INTO publications FROM ${CURRENT}.publications;`);
}

/**
 * Events that were deleted since come again as new ones, because clients have deleted them. Returns
 * their number.
 */
async function restoreEvents(
  connection: DuckDBConnection,
  restoredSequence: number,
  position: MergePosition,
): Promise<number> {
  const restored = await fillTemporary(
    connection,
    'restored',
    `SELECT e.sequence, ${position.lastSequence} + row_number() OVER (ORDER BY e.sequence) AS renewed FROM events e
     SEMI JOIN deleted_events d ON d.sequence = e.sequence AND d.deleted > ${restoredSequence}`,
  );
  if (restored === 0) return 0;
  await connection.run(`
    UPDATE events SET publication = ${position.publication}
    WHERE sequence IN (SELECT sequence FROM restored)`);
  for (const table of EVENT_TABLES) {
    await connection.run(
      `UPDATE ${table} t SET sequence = r.renewed FROM restored r WHERE r.sequence = t.sequence`,
    );
  }
  return restored;
}

const CLOCKS: readonly (readonly [ThingTable, Readonly<Record<string, string>>])[] = [
  ['users', USER_CLOCKS],
  ['boards', THING_CLOCKS],
  ['pins', THING_CLOCKS],
];

/**
 * Sets the clocks of records that are in both versions: to the present sequence if they differ in
 * what the clock counts, or else to those of the current version, which may have changed twice.
 */
async function setClocks(
  connection: DuckDBConnection,
  table: ThingTable,
  clocks: Readonly<Record<string, string>>,
  format: number,
  sequence: number,
): Promise<void> {
  const differs = comparableColumns(table)
    .map((column) => `m.${column} IS DISTINCT FROM t.${column}`)
    .join(' OR ');
  const values = Object.entries(clocks).map(
    ([clock, isMoved]) =>
      `CASE WHEN (${differs}) AND ${isMoved} THEN ${sequence} ELSE t.${clock} END AS ${clock}`,
  );
  const columns = ['ix', 'id', ...Object.keys(clocks)].join(', ');
  const fields = comparedFields(table, 'r').map(([column, sql]) => `${sql} AS ${column}`);
  // The clocks of users depend on parts of their texts, which are usually short.
  const compared = (rows: string) =>
    table === 'users' ? rows : `(SELECT ${columns}, ${fields.join(', ')} FROM ${rows} r)`;
  await fillTemporary(
    connection,
    'clocks',
    `SELECT m.ix, ${values.join(', ')}
     FROM ${compared(table)} m JOIN ${compared(tableOf(table, format, CURRENT))} t ON t.id = m.id`,
  );
  const set = Object.keys(clocks).map((clock) => `${clock} = c.${clock}`);
  await connection.run(`UPDATE ${table} m SET ${set.join(', ')} FROM clocks c WHERE c.ix = m.ix`);
}
