/** Opens PostgreSQL databases for commands, and explains why one cannot be used. */
import { AppError } from '../../domain/app-error.ts';
import type { PostgresDatabase } from '../../store/catalog/postgres-database.ts';

const CONNECT_MS = 5_000;

/** Open databases by URL: the store and the keys of a process share one. */
const databases = new Map<string, PostgresDatabase>();

/** Opens a database whose tables are up to date with this version of Corkboard. */
export async function openMigrated(url: string): Promise<PostgresDatabase> {
  const opened = databases.get(url);
  if (opened?.isOpen) return opened.hold();
  const { checkMigrations } = await import('../../store/catalog/migrate.ts');
  const { PostgresDatabase } = await import('../../store/catalog/postgres-database.ts');
  const database = new PostgresDatabase(url);
  try {
    await explainErrors(checkMigrations(database));
    databases.set(url, database);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/**
 * Explains errors of the first queries to a database. Their cause is usually a wrong URL, missing
 * privileges or the state of the database.
 */
export async function explainErrors<T>(questions: Promise<T>): Promise<T> {
  try {
    return await questions;
  } catch (error) {
    if (error instanceof AppError && error.code !== 'database-away') throw error;
    const cause = error instanceof AppError ? error.cause : error;
    const code = error instanceof AppError ? 'database-away' : 'data-unreadable';
    throw new AppError(
      code,
      `Cannot use the database (${reasonOf(cause)}). --database must name a database that can be reached, read and written.`,
      { cause: error },
    );
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // If several addresses refuse the connection, the error has no message.
  return error.message === '' && 'code' in error ? String(error.code) : error.message;
}

/** Opens a database whose tables may be out of date. Its statements have no time limit. */
export async function withDatabase<T>(
  url: string,
  use: (database: PostgresDatabase) => Promise<T>,
): Promise<T> {
  const { PostgresDatabase } = await import('../../store/catalog/postgres-database.ts');
  const database = new PostgresDatabase(url, { connectMs: CONNECT_MS, answerMs: 0 });
  try {
    return await explainErrors(use(database));
  } finally {
    await database.close();
  }
}
