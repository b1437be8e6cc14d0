/**
 * Asks another server with the transport of the client, and with patience: for everything that is
 * read from servers that are not trusted.
 */
import { AnswerError, type CorkboardError, ProblemError } from '../../client/errors.ts';
import { readBytes } from '../../client/reading.ts';
import { retrying } from '../../client/retrying.ts';
import { type Origin, type Request, sendRaw } from '../../client/sending.ts';
import { fetchUntrusted } from './http-response.ts';

const RETRIES = 5;
/** A server that asks for more patience is asked again by hand. */
const LONGEST_PAUSE_MS = 300_000;
/**
 * Within this time a response has to begin, and to bring as many bytes, or its end, again and
 * again.
 */
const IDLE_MS = 60_000;
const LEAST_BYTES = 64 * 1024;
/** A response that has not ended by then never would. */
const LONGEST_MS = 86_400_000;

export interface Patience {
  /** At most, before the second attempt; each further one waits twice as long, or as `Retry-After` says. */
  readonly firstPauseMs?: number | undefined;
  /** How long a response may take to begin, and to bring 64 KiB; a minute when absent. */
  readonly idleMs?: number | undefined;
  /** How long a response may take as a whole; a day when absent. */
  readonly longestMs?: number | undefined;
  /** Called before each pause. */
  readonly onPause?: ((reason: string) => void) | undefined;
}

export type RemoteBody = AsyncIterable<Uint8Array>;

/**
 * What `read` makes of the first successful response; it gets each body from its start, and its
 * own errors end everything. Throws `ProblemError` and `AnswerError`; `reasonOf` says why without
 * repeating what the server has said.
 */
export async function askPatiently<T>(
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
      // It is being read by nobody any more, and may have been cancelled already.
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

/** Completes a sentence about the server. */
export function reasonOf(error: CorkboardError): string {
  if (error instanceof ProblemError) return `it responded with status ${error.status}`;
  if (error.code === 'redirected') return 'unexpected redirect';
  if (error.code === 'cut-short') return 'the response was cut short';
  const { cause } = error;
  if (!(cause instanceof Error)) return String(cause);
  // Errors of several addresses of one host have a code alone.
  return cause.message || ('code' in cause ? String(cause.code) : cause.name);
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

/** A body as text, at most so many bytes. Throws what `refuse` makes when it has more. */
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
