/** The error for a version file that is damaged or missing. */
import { AppError, ASK_CHECK } from '../domain/app-error.ts';

/** Clients see its message, so that does not name the file. */
export function unreadableVersion(cause: unknown): AppError {
  const message = `The file of a version cannot be read: it is damaged or missing, or the disk has failed. ${ASK_CHECK}`;
  return new AppError('data-unreadable', message, { cause });
}
