/** One request and what comes of it: a success, or an error. Whether it is tried again is told in `retrying.ts`. */
import { AnswerError, ProblemError, withoutKey } from './errors.ts';

export interface Origin {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly key: string;
  readonly fetch: typeof globalThis.fetch;
}

export interface Request {
  /** Below the base URL. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly accept: 'application/json' | 'application/x-ndjson';
  readonly signal: AbortSignal | undefined;
}

/** An answer of status 200 in the form that was asked for, its body unread. Throws `ProblemError`, `AnswerError`, or the reason of the signal. */
export async function send(origin: Origin, { path, query = {}, accept, signal }: Request): Promise<Response> {
  const { baseUrl, key, fetch } = origin;
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const url = `${baseUrl}${path}${given.length === 0 ? '' : `?${new URLSearchParams(given)}`}`;
  let response: Response;
  try {
    // Whoever is redirected to another host would send it the key: `fetch` takes only `Authorization` away.
    response = await fetch(url, {
      headers: { apikey: key, accept },
      redirect: 'manual',
      signal: signal ?? null,
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw new AnswerError('unreachable', `No answer came from ${baseUrl}${reasonOf(error)}.`, {
      cause: error,
    });
  }
  if (response.ok) return await inForm(response, accept, path);
  if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400)) {
    await response.body?.cancel();
    throw new AnswerError(
      'redirected',
      `${baseUrl} leads elsewhere. Give the address to which it leads as the base URL.`,
    );
  }
  throw await readProblem(response, key);
}

async function inForm(response: Response, accept: string, path: string): Promise<Response> {
  const type = response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type === accept) return response;
  await response.body?.cancel();
  throw new AnswerError(
    'unreadable',
    `The answer to ${path} is of the type ${type ?? 'unknown'}, not ${accept}: another service answers there.`,
  );
}

/** What the runtime says, without its words, which differ: `ECONNREFUSED`. */
function reasonOf(error: unknown): string {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  const code: unknown =
    typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' ? ` (${code})` : '';
}

async function readProblem(response: Response, key: string): Promise<ProblemError> {
  const { status, headers } = response;
  const common = { status, retryAfterMs: readRetryAfter(headers.get('retry-after')) };
  const requestId = headers.get('x-request-id') ?? undefined;
  // What cannot be read is no problem document, whatever the reason.
  const body: unknown = await response.json().catch(() => undefined);
  const field = (name: string) => {
    const value = typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined;
    return typeof value === 'string' ? withoutKey(value, key) : undefined;
  };
  return new ProblemError({
    ...common,
    code: field('code') ?? 'unknown',
    title: field('title') ?? `Status ${status}`,
    detail: field('detail') ?? 'The request was refused without a reason that can be read.',
    requestId: field('request_id') ?? (requestId && withoutKey(requestId, key)),
  });
}

/** Seconds, or the date of HTTP. */
function readRetryAfter(text: string | null): number | undefined {
  if (text === null) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const untilMs = Date.parse(text) - Date.now();
  return Number.isNaN(untilMs) ? undefined : Math.max(untilMs, 0);
}
