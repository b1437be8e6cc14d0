/** Trying again what may go well another time: too many requests, a server that is away, a connection that broke. */
import { AnswerError, CorkboardError, ProblemError } from './errors.ts';

export interface RetryOptions {
  /** How often a request is tried again; 0 for never, 5 by default. */
  readonly retries?: number;
  /** The first pause is at most so long, each further one at most twice the one before; 500 by default. */
  readonly firstPauseMs?: number;
  /** No pause is longer. When the server asks for a longer one, the error is thrown; 60,000 by default. */
  readonly longestPauseMs?: number;
  /**
   * What may go well another time; by default 429, 502, 503, 504, no answer, and one that was cut
   * short.
   */
  readonly isPassing?: (error: CorkboardError) => boolean;
  /** Is told of every pause before it begins. */
  readonly onRetry?: (retry: Retry) => void;
}

export interface Retry {
  /** What went wrong. */
  readonly error: CorkboardError;
  /** 1 for the first pause. */
  readonly attempt: number;
  readonly pauseMs: number;
}

const PASSING_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** What `attempt` gives in the end. It has to be whole: what has been given to the caller cannot be asked for again. */
export async function retrying<T>(
  attempt: () => Promise<T>,
  options: RetryOptions,
  signal: AbortSignal | undefined,
): Promise<T> {
  const { retries = 5, isPassing = passesByItself, onRetry } = options;
  for (let tried = 1; ; tried += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (tried > retries || !(error instanceof CorkboardError && isPassing(error))) throw error;
      const pauseMs = pauseBefore(error, tried, options);
      if (pauseMs === undefined) throw error;
      onRetry?.({ error, attempt: tried, pauseMs });
      await pause(pauseMs, signal);
    }
  }
}

function passesByItself(error: CorkboardError): boolean {
  if (error instanceof ProblemError) return PASSING_STATUSES.has(error.status);
  return error instanceof AnswerError && (error.code === 'unreachable' || error.code === 'cut-short');
}

/** Absent when the server asks for more patience than there is. */
function pauseBefore(error: CorkboardError, tried: number, options: RetryOptions): number | undefined {
  const { firstPauseMs = 500, longestPauseMs = 60_000 } = options;
  const wantedMs = error instanceof ProblemError ? (error.retryAfterMs ?? 0) : 0;
  if (wantedMs > longestPauseMs) return undefined;
  const widestMs = Math.min(firstPauseMs * 2 ** (tried - 1), longestPauseMs);
  // By chance, so that clients that failed together do not come back together; from the half on, so that it is a pause.
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
