/** Requests to untrusted servers, with the transport of the client, retries and time limits. */
import { AnswerError, type CorkboardError, ProblemError } from '../../client/errors.ts';
import { readBytes } from '../../client/reading.ts';
import { retrying } from '../../client/retrying.ts';
import { type Origin, type Request, sendRaw } from '../../client/sending.ts';
import { shortened } from '../../domain/shortened-text.ts';
import { fetchUntrusted } from './http-response.ts';

const RETRIES = 5;
/** After a longer `Retry-After`, the operator must repeat the command. */
const LONGEST_PAUSE_MS = 300_000;
/**
 * Time limit for a response to begin, and then for each further `LEAST_BYTES` or the end of the
 * body.
 */
const IDLE_MS = 60_000;
const LEAST_BYTES = 64 * 1024;
/** Time limit for a whole response: one that takes longer is assumed never to end. */
const LONGEST_MS = 86_400_000;
const LONGEST_REASON = 200;

export interface Patience {
  /**
   * Maximum pause before the second attempt. It doubles for each further attempt; `Retry-After` can
   * require a longer one.
   */
  readonly firstPauseMs?: number | undefined;
  /** Time limit for a response to begin, and for each 64 KiB of it; 60 seconds by default. */
  readonly idleMs?: number | undefined;
  /** Time limit for a whole response; a day by default. */
  readonly longestMs?: number | undefined;
  /** Called before each pause. */
  readonly onPause?: ((reason: string) => void) | undefined;
}

export type RemoteBody = AsyncIterable<Uint8Array>;

/**
 * The result of `read` for the first successful response. `read` is called again, with a new body,
 * for each retry; errors of its own end the request. Throws `ProblemError` and `AnswerError`;
 * `reasonOf` describes them without text from the server.
 */
export async function requestWithRetry<T>(
  origin: Omit<Origin, 'fetch'>,
  request: Omit<Request, 'signal'>,
  read: (body: RemoteBody, response: Response) => Promise<T>,
  { firstPauseMs = 500, idleMs = IDLE_MS, longestMs = LONGEST_MS, onPause }: Patience = {},
): Promise<T> {
  const attempt = async () => {
    const stalled = new AbortController();
    const stop = (reason: string) =>
      stalled.abort(new AnswerError('unreachable', reason, { cause: new Error(reason) }));
    const timer = setTimeout(stop, idleMs, 'its response is too slow');
    const end = setTimeout(stop, longestMs, 'its response does not end');
    const { signal } = stalled;
    let response: Response | undefined;
    try {
      response = await sendRaw({ ...origin, fetch: fetchUntrusted }, { ...request, signal });
      return await read(watched(readBytes(response, signal), timer), response);
    } finally {
      clearTimeout(timer);
      clearTimeout(end);
      // The body is no longer being read, and may already be cancelled.
      await response?.body?.cancel().catch(() => undefined);
    }
  };
  const onRetry = ({ error }: { error: CorkboardError }) => onPause?.(reasonOf(error));
  const options = { retries: RETRIES, firstPauseMs, longestPauseMs: LONGEST_PAUSE_MS, isPassing, onRetry };
  return await retrying(attempt, options, undefined);
}

function isPassing(error: CorkboardError): boolean {
  if (error instanceof ProblemError) return error.status === 429 || error.status >= 500;
  return error.code !== 'redirected';
}

/** The reason as the end of a sentence about the server. */
export function reasonOf(error: CorkboardError): string {
  if (error instanceof ProblemError) return `it responded with status ${error.status}`;
  if (error.code === 'redirected') return 'unexpected redirect';
  if (error.code === 'cut-short') return 'the response was cut short';
  const { cause } = error;
  if (!(cause instanceof Error)) return String(cause);
  // An error that combines several addresses of one host has only a code.
  // Messages about certificates repeat text of the server.
  return shortened(cause.message, LONGEST_REASON) || ('code' in cause ? String(cause.code) : cause.name);
}

async function* watched(body: RemoteBody, timer: NodeJS.Timeout): AsyncGenerator<Uint8Array> {
  timer.refresh();
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes >= LEAST_BYTES) {
      timer.refresh();
      bytes = 0;
    }
    yield part;
  }
}

/**
 * A body as text, of at most `mostBytes` bytes. Throws the error made by `refuse` when it is
 * longer.
 */
export async function textOf(body: RemoteBody, mostBytes: number, refuse: () => Error): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > mostBytes) throw refuse();
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
