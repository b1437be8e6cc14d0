/**
 * A version that could not be opened, and when to try again: not at every request (decision 65).
 */
import { AppError } from '../../domain/app-error.ts';

/**
 * The first pause. Each further one is twice as long, because a large version can take long to
 * fail.
 */
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 60_000;

export interface Failure {
  /** Absent when the store could not report it either. */
  readonly version: string | undefined;
  readonly error: unknown;
  /** Whether the previous attempt has not failed in the same way. */
  readonly isNew: boolean;
  readonly retryAtMs: number;
  readonly pauseMs: number;
}

/**
 * The failure of a version at an instant. `before`: the previous failure, if no version has been
 * opened since.
 */
export function failureOf(
  version: string | undefined,
  error: unknown,
  before: Failure | undefined,
  nowMs: number,
): Failure {
  const pauseMs = before === undefined ? FIRST_PAUSE_MS : Math.min(2 * before.pauseMs, LONGEST_PAUSE_MS);
  const isNew = before?.version !== version || String(before?.error) !== String(error);
  return { version, error, isNew, retryAtMs: nowMs + pauseMs, pauseMs };
}

/** The reason is only logged, because a client can do nothing about it. */
export function unreadable(failure: Failure | undefined): AppError {
  return new AppError(
    'data-unreadable',
    'The data of the organization cannot be read at the moment. The log of the server has the reason.',
    { cause: failure?.error },
  );
}

export function notPublished(cause?: unknown): AppError {
  return new AppError(
    'not-published',
    'This server does not have the organization of the key yet. Try again when it has been restored.',
    { cause },
  );
}

/** Whether an organization has no data or does not exist. */
export function isUnknown(error: unknown): boolean {
  if (!(error instanceof AppError)) return false;
  return error.code === 'organization-unknown' || error.code === 'not-published';
}

/** Whether stored data is damaged. */
export function isUnreadable(error: unknown): boolean {
  return error instanceof AppError && error.code === 'data-unreadable';
}
