/**
 * Kysely's migrator with the migrations of Corkboard. A separate module, because it loads slowly.
 */
import { Kysely, PostgresAdapter, PostgresDialect, type PostgresPoolClient, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import type { PostgresDatabase } from './postgres-database.ts';
import { SCHEMA, STEPS } from './postgres-tables.ts';

/**
 * Runs the missing migrations in one transaction and returns their names. Concurrent calls queue.
 * `lock`: key of the advisory lock that serializes them.
 */
export async function runSteps(database: PostgresDatabase, lock: bigint): Promise<readonly string[]> {
  // Kysely's type has an additional form of `query`, for cursors, which is not used here.
  const connect = async () => (await database.lend()) as unknown as PostgresPoolClient;
  const dialect = new Dialect({ pool: { connect, end: async () => undefined, options: {} } });
  return await new Kysely({ dialect }).transaction().execute(async (transaction) => {
    await sql`SELECT pg_advisory_xact_lock(${lock})`.execute(transaction);
    await sql`SET LOCAL search_path = ${sql.id(SCHEMA)}`.execute(transaction);
    const migrator = new Migrator({
      db: transaction,
      provider: { getMigrations: async () => MIGRATIONS },
      migrationTableSchema: SCHEMA,
      migrationTableName: 'steps',
      migrationLockTableName: 'steps_lock',
    });
    const { error, results = [] } = await migrator.migrateToLatest();
    if (error !== undefined) throw error;
    return results.map(({ migrationName }) => migrationName);
  });
}

class Dialect extends PostgresDialect {
  override createAdapter() {
    return new Adapter();
  }
}

/** Without Kysely's lock, which lasts as long as the session: behind a pooler, longer than this. */
class Adapter extends PostgresAdapter {
  override async acquireMigrationLock() {}
  override async releaseMigrationLock() {}
}

const MIGRATIONS: Readonly<Record<string, Migration>> = Object.fromEntries(
  Object.entries(STEPS).map(([name, statements]) => [
    name,
    { up: async (database: Kysely<unknown>) => void (await sql.raw(statements).execute(database)) },
  ]),
);
