/** Which trouble of the driver means that the database is away, and trying again in a moment can help. */
import { AppError } from '../../domain/app-error.ts';

/** Codes of PostgreSQL that say that it is not there now: connection exceptions, shutdown, start-up, no more room. */
const AWAY = /^(08|57P0[1235]|53300|25006)/;
const AWAY_SYSTEM = /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH)$/;

/** What is asked, with `database-away` in place of what the driver says of it. */
export async function told<T>(asking: Promise<T>): Promise<T> {
  try {
    return await asking;
  } catch (error) {
    throw translated(error);
  }
}

/** Whether the connection cannot be used any more: another may do. */
function isAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  const broken =
    /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Query read timeout/;
  return AWAY.test(code) || AWAY_SYSTEM.test(code) || broken.test(error.message);
}

export function translated(error: unknown): unknown {
  if (!isAway(error)) return error;
  return new AppError('database-away', 'The database cannot be reached now. Try again in a moment.', {
    cause: error,
  });
}
