/** What a pull says about a server that it cannot copy from. */
import { AppError } from '../domain/app-error.ts';

/**
 * `reason` completes the sentence and repeats no text of the server, which may hold terminal
 * escapes.
 */
export function refused(reason: string, isKept = true): AppError {
  const kept = isKept ? '; the data fetched so far is kept' : '';
  return new AppError(
    'source-refused',
    `Cannot pull from the server: ${reason}. Check its URL and the key, and pull again${kept}.`,
  );
}

export function noInterface(url: string): AppError {
  return new AppError(
    'source-refused',
    `There is no API at ${url}. Use the base URL of a variant, the part before /v1/events, like http://host/a.`,
  );
}
