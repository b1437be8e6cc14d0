/** What a pull says about a server that it cannot copy from. */
import { AppError } from '../app-error.ts';

/**
 * `reason` completes the sentence and repeats no text of the server, which may hold terminal
 * escapes.
 */
export function refused(reason: string, isKept = true): AppError {
  const kept = isKept ? ': what has come so far is kept' : '';
  return new AppError(
    'source-refused',
    `The server cannot be pulled from: ${reason}. Check its URL and the key, and pull again${kept}.`,
  );
}

export function noInterface(url: string): AppError {
  return new AppError(
    'source-refused',
    `There is no interface at ${url}. Name the base of a variant, below which /v1/events lies, like http://host/a.`,
  );
}
