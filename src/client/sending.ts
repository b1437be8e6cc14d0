/** Sends one request; the result is a success or an error. `retrying.ts` decides about retries. */
import { AnswerError, ProblemError, withoutKey } from './errors.ts';
import { retryAfterMs } from './headers.ts';
import { readBytes } from './reading.ts';

export interface Origin {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  /** Absent for a different service, whose credentials are in `headers`. */
  readonly key?: string | undefined;
  /** Added to the headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly fetch: typeof globalThis.fetch;
}

export type Query = Readonly<Record<string, string | undefined>>;

export interface Request {
  /** Relative to the base URL. */
  readonly path: string;
  readonly query?: Query;
  readonly accept?: string | undefined;
  /** Entity tag of a stored response. If it is still current, the new response has status 304. */
  readonly etag?: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/** A longer body is not a problem document. */
const MOST_PROBLEM_BYTES = 64 * 1024;
/** Of a header field, in messages. */
const SHOWN_CHARACTERS = 60;

/**
 * A response of the requested media type, with its body unread. Throws `AnswerError` for a
 * different type; otherwise throws as `sendRaw` does.
 */
export async function send(origin: Origin, request: Request): Promise<Response> {
  const { path, accept } = request;
  const response = await sendRaw(origin, request);
  const type = response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type === accept) return response;
  await response.body?.cancel();
  throw new AnswerError(
    'unreadable',
    `The response to ${path} has the type ${type?.slice(0, SHOWN_CHARACTERS) ?? 'unknown'}, not ${accept}. It may come from a different service.`,
  );
}

/**
 * A successful response, or status 304 if an entity tag was given, with its body unread. Throws
 * `ProblemError`, `AnswerError`, or the reason of the signal.
 */
export async function sendRaw(origin: Origin, request: Request): Promise<Response> {
  const { baseUrl, key, headers, fetch } = origin;
  const { path, query = {}, accept, etag, signal } = request;
  let response: Response;
  try {
    response = await fetch(`${baseUrl}${pathAndQuery(path, query)}`, {
      headers: {
        ...headers,
        ...(key !== undefined && { apikey: key }),
        ...(accept !== undefined && { accept }),
        ...(etag !== undefined && { 'if-none-match': etag }),
      },
      // Following a redirect would send the key to a different host: `fetch` removes only
      // `Authorization`.
      redirect: 'manual',
      signal: signal ?? null,
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw new AnswerError('unreachable', `No response from ${baseUrl}${reasonOf(error)}.`, {
      cause: error,
    });
  }
  const { ok, status, type } = response;
  if (ok || (status === 304 && etag !== undefined)) return response;
  if (type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    await response.body?.cancel();
    throw new AnswerError(
      'redirected',
      `${baseUrl} redirects to a different URL. Use that URL as the base URL.`,
    );
  }
  throw await readProblem(response, key, signal);
}

/** Includes only the parameters that have a value. */
function pathAndQuery(path: string, query: Query): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

/** The error code of the runtime, like `ECONNREFUSED`; its message differs between runtimes. */
function reasonOf(error: unknown): string {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  const code: unknown =
    typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' ? ` (${code})` : '';
}

async function readProblem(
  response: Response,
  key: string | undefined,
  signal: AbortSignal | undefined,
): Promise<ProblemError> {
  const { status, headers } = response;
  const requestId = headers.get('x-request-id') ?? undefined;
  // A body that cannot be read is not a problem document, whatever the reason.
  const body: unknown = await beginningOf(response, signal)
    .then(JSON.parse)
    .catch(() => undefined);
  const field = (name: string) => {
    const value = typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined;
    return typeof value === 'string' ? withoutKey(value, key) : undefined;
  };
  return new ProblemError({
    ...{ status, retryAfterMs: retryAfterMs(headers) },
    code: field('code') ?? 'unknown',
    title: field('title') ?? `Status ${status}`,
    detail: field('detail') ?? 'The request was refused without a readable reason.',
    requestId: field('request_id') ?? (requestId && withoutKey(requestId, key)),
  });
}

async function beginningOf(response: Response, signal: AbortSignal | undefined): Promise<string> {
  const decoder = new TextDecoder();
  let [text, size] = ['', 0];
  for await (const bytes of readBytes(response, signal)) {
    text += decoder.decode(bytes, { stream: true });
    size += bytes.byteLength;
    if (size > MOST_PROBLEM_BYTES) break;
  }
  return text;
}
