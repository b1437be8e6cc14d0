/**
 * Recognizes driver errors that mean that the database is unreachable and a retry can help, and
 * those of a pooler that cannot be used.
 */
import { AppError } from '../../domain/app-error.ts';

/**
 * PostgreSQL error codes for an unavailable server: connection exceptions, shutdown, start-up, too
 * many connections, read-only.
 */
const AWAY = /^(08|57P0[1235]|53300|25006)/;
const AWAY_SYSTEM = /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH)$/;

/** Awaits a statement and replaces connection errors of the driver by `database-away`. */
export async function told<T>(asking: Promise<T>): Promise<T> {
  try {
    return await asking;
  } catch (error) {
    throw translated(error);
  }
}

/** Whether the connection is unusable; a new one may work. */
function isAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  const broken =
    /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Query read timeout/;
  return AWAY.test(code) || AWAY_SYSTEM.test(code) || broken.test(error.message);
}

export function translated(error: unknown): unknown {
  if (error instanceof Error && error.message.includes('statement pooling mode')) {
    return new AppError(
      'data-unreadable',
      'PgBouncer allows no transactions for this database. Set its pool_mode to transaction or session.',
      { cause: error },
    );
  }
  if (!isAway(error)) return error;
  return new AppError('database-away', 'The database cannot be reached now. Try again in a moment.', {
    cause: error,
  });
}
