/** Errors of a pull about the server. */
import { AppError } from '../domain/app-error.ts';

/**
 * `reason` completes the sentence. It must not repeat text of the server, which may contain
 * terminal escapes.
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
