/** Retries requests after transient errors: rate limit, unreachable server, broken connection. */
import { AnswerError, CorkboardError, ProblemError } from './errors.ts';

export interface RetryOptions {
  /** Maximum number of retries of a request; 5 by default, 0 for none. */
  readonly retries?: number;
  /** Upper limit of the first pause; 500 by default. The limit doubles with each further pause. */
  readonly firstPauseMs?: number;
  /**
   * Longest pause; 60,000 by default. If the server asks for a longer one, the error is thrown.
   */
  readonly longestPauseMs?: number;
  /**
   * Whether an error is transient. By default these are: status 429, 502, 503 and 504, no response,
   * and a response that was cut short.
   */
  readonly isPassing?: (error: CorkboardError) => boolean;
  /** Called before every pause. */
  readonly onRetry?: (retry: Retry) => void;
}

export interface Retry {
  readonly error: CorkboardError;
  /** 1 for the first pause. */
  readonly attempt: number;
  readonly pauseMs: number;
}

const PASSING_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/**
 * Returns the result of the first successful attempt. `attempt` must return a complete result:
 * elements that the caller already has cannot be requested again.
 */
export async function retrying<T>(
  attempt: () => Promise<T>,
  options: RetryOptions,
  signal: AbortSignal | undefined,
): Promise<T> {
  const { retries = 5, isPassing: passes = isPassing, onRetry } = options;
  for (let tried = 1; ; tried += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (tried > retries || !(error instanceof CorkboardError && passes(error))) throw error;
      const pauseMs = pauseBefore(error, tried, options);
      if (pauseMs === undefined) throw error;
      onRetry?.({ error, attempt: tried, pauseMs });
      await pause(pauseMs, signal);
    }
  }
}

/** Whether an error is transient, unless the caller knows better. */
export function isPassing(error: CorkboardError): boolean {
  if (error instanceof ProblemError) return PASSING_STATUSES.has(error.status);
  return error instanceof AnswerError && (error.code === 'unreachable' || error.code === 'cut-short');
}

/** Undefined if the server asks for a longer pause than `longestPauseMs`. */
function pauseBefore(error: CorkboardError, tried: number, options: RetryOptions): number | undefined {
  const { firstPauseMs = 500, longestPauseMs = 60_000 } = options;
  const wantedMs = error instanceof ProblemError ? (error.retryAfterMs ?? 0) : 0;
  if (wantedMs > longestPauseMs) return undefined;
  const widestMs = Math.min(firstPauseMs * 2 ** (tried - 1), longestPauseMs);
  // Random, so that clients that failed together do not all retry together; at least half of the
  // limit, so that there always is a pause.
  const ownMs = widestMs * (0.5 + Math.random() / 2);
  return Math.min(Math.max(wantedMs, ownMs), longestPauseMs);
}

/** Throws the reason of the signal as soon as it is aborted. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
