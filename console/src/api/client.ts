/** Requests to the interface with the key of this tab, and what can go wrong with them. */
import { forgetKey, readKey } from './key.ts';

/** A refusal, as its problem document tells it (RFC 9457), or that no answer came. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(problem: {
    status: number;
    code: string;
    title: string;
    detail: string;
    requestId?: string | undefined;
    retryAfterSeconds?: number | undefined;
  }) {
    super(problem.detail);
    this.status = problem.status;
    this.code = problem.code;
    this.title = problem.title;
    this.requestId = problem.requestId;
    this.retryAfterSeconds = problem.retryAfterSeconds;
  }
}

export interface RequestWishes {
  readonly signal?: AbortSignal | undefined;
  readonly accept?: string;
  /** Instead of the one of the tab; then a refusal leaves that as it is. */
  readonly key?: string;
}

/** Throws `ApiError` unless the answer is a success. A refused key is forgotten, and its reason kept for the form. */
export async function request(path: string, wishes: RequestWishes = {}): Promise<Response> {
  const { signal = null, accept = 'application/json', key = readKey() } = wishes;
  let response: Response;
  try {
    // Data stays in the memory of the tab, like the key: the cache of the browser outlives both.
    const headers = { accept, ...(key !== '' && { apikey: key }) };
    response = await fetch(path, { signal, cache: 'no-store', headers });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError({
      ...{ status: 0, code: 'unreachable', title: 'No answer' },
      detail: 'The server cannot be reached. Check the connection and try again.',
    });
  }
  if (response.ok) return response;
  const error = await readProblem(response);
  if (error.status === 401 && wishes.key === undefined) forgetKey(error.message);
  throw error;
}

async function readProblem(response: Response): Promise<ApiError> {
  const requestId = response.headers.get('x-request-id') ?? undefined;
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  const retryAfterSeconds = Number.isFinite(retryAfter) ? retryAfter : undefined;
  const common = { status: response.status, requestId, retryAfterSeconds };
  try {
    const { code, title, detail } = await response.json();
    return new ApiError({ ...common, code: String(code), title: String(title), detail: String(detail) });
  } catch {
    const title = response.statusText || `Status ${response.status}`;
    return new ApiError({ ...common, code: 'unknown', title, detail: 'The answer cannot be read.' });
  }
}

export async function requestJson<T>(path: string, wishes?: RequestWishes): Promise<T> {
  return parseExact(await (await request(path, wishes)).text());
}

/** With ids as texts, so that those beyond 2^53 keep all their digits. */
export function parseExact<T>(text: string): T {
  return JSON.parse(text, (name: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' && /^(.*_)?id$|^(actor|owner)$/.test(name)
      ? (context?.source ?? String(value))
      : value,
  );
}

/** A path with those parameters that have a value. */
export function pathWith(
  path: string,
  parameters: Readonly<Record<string, string | number | undefined>>,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== '') query.set(name, String(value));
  }
  return query.size === 0 ? path : `${path}?${query}`;
}

/** Where the next page is, as the header `Link` says; absent on the last one. */
export function nextPage(response: Response): string | undefined {
  return /<([^>]+)>; *rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
}
