/** Kysely's migrator over the steps of this version. Apart, because loading it takes a while. */
import { Kysely, PostgresDialect, type PostgresPoolClient, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import type { PostgresDatabase } from './postgres-database.ts';
import { STEPS } from './postgres-tables.ts';

/** Does the missing steps in one transaction, and answers their names. Two that run at once take turns. */
export async function runSteps(database: PostgresDatabase, schema: string): Promise<readonly string[]> {
  // Its type has another form of `query` besides, for cursors, which are not used here.
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
