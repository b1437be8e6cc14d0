/**
 * The tables of records on the nodes of a Citus cluster, by the organization, so that everything about one lies
 * together. The few rows about organizations, versions and keys stay on the coordinator.
 */
import { AppError } from '../../app-error.ts';
import type { Database } from './database.ts';
import { LASTING, MORTAL, type Table } from './schema.ts';

const TABLES: readonly Table[] = [...MORTAL, ...LASTING, 'events'];

/** A call of Citus for each table, which lies beside the first one: the rows of an organization are on one node. */
export const CITUS_STATEMENTS: ReadonlyMap<string, string> = new Map(
  TABLES.map((table) => {
    const beside = table === TABLES[0] ? 'default' : `corkboard.${TABLES[0]}`;
    const values = `'corkboard.${table}', 'organization', colocate_with => '${beside}'`;
    return [table, `SELECT create_distributed_table(${values})`];
  }),
);

/**
 * Distributes the tables that are not distributed yet, with the rows that they have, and answers their names. The
 * migrations have to be done. Throws `data-unreadable` where there is no Citus.
 */
export async function distribute(database: Database): Promise<string[]> {
  const [row] = await database.rows(`SELECT to_regclass('pg_dist_partition') IS NOT NULL`);
  if (row?.[0] !== true) {
    throw new AppError(
      'data-unreadable',
      'The database has no Citus; a superuser adds it with "CREATE EXTENSION citus".',
    );
  }
  const session = await database.open();
  try {
    await session.withoutTimeout();
    const distributed = await session.rows('SELECT logicalrelid::text FROM pg_dist_partition');
    const names = new Set(distributed.map(([name]) => name));
    // The schema is the one that the connection searches, so names come without it.
    const missing = [...CITUS_STATEMENTS].filter(([table]) => !names.has(table));
    for (const [, statement] of missing) await session.rows(statement);
    return missing.map(([table]) => table);
  } finally {
    session.close();
  }
}
