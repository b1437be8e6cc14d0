/**
 * Asks over HTTP with patience: a connection that breaks, a server that is busy or away is asked again, after a pause
 * that grows. For everything that is read from another server.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { AppError } from '../app-error.ts';
import { type Body, type HttpResponse, requestResponse } from './http-response.ts';

const ATTEMPTS = 6;
const FIRST_PAUSE_MS = 500;
/** A server that asks for more patience is asked again by hand. */
const LONGEST_PAUSE_MS = 60_000;
/**
 * Within this time a response has to begin, and to bring as many bytes, or its end, again and
 * again.
 */
const IDLE_MS = 60_000;
const LEAST_BYTES = 64 * 1024;
/** A response that has not ended by then never would. */
const LONGEST_MS = 86_400_000;

export interface Patience {
  /** Before the second attempt; each further one waits twice as long, or as long as `Retry-After` says. */
  readonly firstPauseMs?: number | undefined;
  /** How long a response may take to begin, and to bring 64 KiB; a minute when absent. */
  readonly idleMs?: number | undefined;
  /** How long a response may take as a whole; a day when absent. */
  readonly longestMs?: number | undefined;
  /** Called before each pause. */
  readonly onPause?: ((reason: string) => void) | undefined;
}

export interface Answered<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly content: T;
}

/**
 * The first answer that says something: any status but 429 and those from 500 on. `read` gets each body from its start.
 * `refuse` makes the error of the last attempt. A redirection is refused: followed, it would take credentials along.
 */
export async function askPatiently<T>(
  url: URL,
  headers: Readonly<Record<string, string>>,
  read: (body: Body, response: HttpResponse) => Promise<T>,
  refuse: (reason: string) => AppError,
  { firstPauseMs = FIRST_PAUSE_MS, idleMs = IDLE_MS, longestMs = LONGEST_MS, onPause }: Patience = {},
): Promise<Answered<T>> {
  for (let attempt = 1, waitMs = firstPauseMs; ; attempt++, waitMs *= 2) {
    const asked = await ask(url, headers, read, idleMs, longestMs);
    if ('content' in asked) return asked;
    if (attempt === ATTEMPTS) throw refuse(asked.reason);
    onPause?.(asked.reason);
    await pause(Math.min(Math.max(waitMs, asked.retryAfterMs), LONGEST_PAUSE_MS));
  }
}

interface Failed {
  readonly reason: string;
  readonly retryAfterMs: number;
}

async function ask<T>(
  url: URL,
  headers: Readonly<Record<string, string>>,
  read: (body: Body, response: HttpResponse) => Promise<T>,
  idleMs: number,
  longestMs: number,
): Promise<Answered<T> | Failed> {
  const stalled = new AbortController();
  const stop = (reason: string) => stalled.abort(new Error(reason));
  const timer = setTimeout(stop, idleMs, 'its response comes too slowly');
  const end = setTimeout(stop, longestMs, 'its response does not end');
  let response: HttpResponse | undefined;
  try {
    response = await requestResponse(url, headers, stalled.signal);
    const { status } = response;
    if (status === 429 || status >= 500) {
      return { reason: `it answers ${status}`, retryAfterMs: retryAfterMs(response) };
    }
    if (REDIRECTIONS.has(status)) return { reason: 'unexpected redirect', retryAfterMs: 0 };
    const content = await read(watched(response.body, timer), response);
    return { status, headers: response.headers, content };
  } catch (error) {
    if (error instanceof AppError) throw error;
    return { reason: reasonOf(stalled.signal.aborted ? stalled.signal.reason : error), retryAfterMs: 0 };
  } finally {
    clearTimeout(timer);
    clearTimeout(end);
    response?.discard();
  }
}

const REDIRECTIONS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Errors of several addresses of one host have a code alone. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || ('code' in error ? String(error.code) : error.name);
}

async function* watched(body: Body, timer: NodeJS.Timeout): AsyncGenerator<Uint8Array> {
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

/** In seconds, or a date. */
function retryAfterMs({ headers }: HttpResponse): number {
  const text = headers.get('retry-after') ?? '';
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  return Math.max(0, (Date.parse(text) || 0) - Date.now());
}

/** A body as text, at most so many bytes. Throws what `refuse` makes when it has more. */
export async function textOf(body: Body, mostBytes: number, refuse: () => AppError): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > mostBytes) throw refuse();
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
