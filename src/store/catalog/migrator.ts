/**
 * Kysely's migrator with the migrations of Corkboard. A separate module, because it loads slowly.
 */
import { Kysely, PostgresDialect, type PostgresPoolClient, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import type { PostgresDatabase } from './postgres-database.ts';
import { STEPS } from './postgres-tables.ts';

/**
 * Runs the missing migrations in one transaction and returns their names. Concurrent calls queue.
 */
export async function runSteps(database: PostgresDatabase, schema: string): Promise<readonly string[]> {
  // Kysely's type has an additional form of `query`, for cursors, which is not used here.
  const connect = async () => (await database.lend()) as unknown as PostgresPoolClient;
  const pool = { connect, end: async () => undefined, options: {} };
  const migrator = new Migrator({
    db: new Kysely({ dialect: new PostgresDialect({ pool }) }),
    provider: { getMigrations: async () => MIGRATIONS },
    migrationTableSchema: schema,
    migrationTableName: 'steps',
    migrationLockTableName: 'steps_lock',
  });
  const { error, results = [] } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
  return results.map(({ migrationName }) => migrationName);
}

const MIGRATIONS: Readonly<Record<string, Migration>> = Object.fromEntries(
  Object.entries(STEPS).map(([name, statements]) => [
    name,
    { up: async (database: Kysely<unknown>) => void (await sql.raw(statements).execute(database)) },
  ]),
);
