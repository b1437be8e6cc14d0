/**
 * Everything that a request can be refused for, in one table, and the one shape in which it is told: a problem
 * document (RFC 9457, decision 13). `docs/errors.md` lists the same table; a test compares the two.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, type ErrorCode } from '../app-error.ts';
import { escapeLineEnds } from '../json-text.ts';
import { RefusedKeyError } from '../keys/keyring.ts';
import { ALLOWED_METHODS } from './methods.ts';
import { readTarget, scrubKeys, uriReference } from './target.ts';

export interface ProblemKind {
  readonly status: number;
  readonly title: string;
  /** What to do about it, for the reference. */
  readonly remedy: string;
}

export const PROBLEMS = {
  'request-malformed': {
    status: 400,
    title: 'The request cannot be read',
    remedy: 'Send well-formed HTTP/1.1 with one `Host` header and a percent-encoded URL.',
  },
  'parameter-unknown': {
    status: 400,
    title: 'A query parameter is unknown',
    remedy:
      'Correct the name; the detail names the nearest known one. An unknown filter is never passed over.',
  },
  'parameter-repeated': {
    status: 400,
    title: 'A query parameter is given more than once',
    remedy: 'Give every parameter once.',
  },
  'parameter-malformed': {
    status: 400,
    title: 'A query parameter has a value that cannot be used',
    remedy: 'The detail says what is expected.',
  },
  'range-reversed': {
    status: 400,
    title: 'The range ends before it starts',
    remedy: 'Give a `start` that is not later than `end`.',
  },
  'range-too-fine': {
    status: 400,
    title: 'The range has too many periods or figures',
    remedy: 'Ask for a shorter range, a longer `interval`, or fewer boards with `top`.',
  },
  'cursor-malformed': {
    status: 400,
    title: 'The cursor does not belong to this question',
    remedy: 'Follow the `Link` header as it is, with the same key, or begin again without a cursor.',
  },
  'since-invalid': {
    status: 400,
    title: 'The sync token does not belong to this question',
    remedy:
      'Begin again with `since=start` and an empty table: the key, its scope or the question is another now.',
  },
  'identifier-malformed': {
    status: 400,
    title: 'An identifier is not a 64-bit integer',
    remedy: 'Give the identifier in decimal digits.',
  },
  'body-not-expected': {
    status: 400,
    title: 'The request has a body',
    remedy: 'Send no body. Up to 64 KiB are ignored with GET and HEAD.',
  },
  'key-missing': {
    status: 401,
    title: 'The API key is missing',
    remedy: 'Send the key in the header `apikey`.',
  },
  'key-unknown': {
    status: 401,
    title: 'The API key is unknown',
    remedy: 'Check the key for missing characters, or ask the operator for a new one.',
  },
  'key-expired': { status: 401, title: 'The API key has expired', remedy: 'Ask the operator for a new key.' },
  'key-revoked': {
    status: 401,
    title: 'The API key has been revoked',
    remedy: 'Ask the operator for a new key.',
  },
  'lookup-not-allowed': {
    status: 403,
    title: 'The key may not look up users by LMS properties',
    remedy: 'Ask the operator for a key with this permission: redacting keys do not have it by themselves.',
  },
  'not-found': {
    status: 404,
    title: 'There is nothing here',
    remedy: 'Check the path and the identifier. What a key may not see answers as what does not exist.',
  },
  'lookup-not-configured': {
    status: 404,
    title: 'The organization has not switched on this look-up',
    remedy: 'Ask the operator to switch on the look-up by course or by this LMS user property.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'The method is not allowed',
    remedy: 'Use one of the methods in the header `Allow`. The interface is read-only.',
  },
  'not-acceptable': {
    status: 406,
    title: 'No acceptable representation exists',
    remedy: 'Accept one of the representations that the detail lists.',
  },
  'request-timeout': {
    status: 408,
    title: 'The request took too long to arrive',
    remedy: 'Send the whole request at once.',
  },
  'precondition-failed': {
    status: 412,
    title: 'The entity tag is not that of the response',
    remedy: 'Send the request without `If-Match`, or with the entity tag that the response has now.',
  },
  'uri-too-long': { status: 414, title: 'The URL is too long', remedy: 'Keep the URL within 8 KiB.' },
  'rate-limited': {
    status: 429,
    title: 'Too many requests',
    remedy: 'Wait as many seconds as the header `Retry-After` says.',
  },
  'too-many-responses': {
    status: 429,
    title: 'Too many large responses at once',
    remedy:
      'Let one of this key or of its organization end first, or ask for pages with `limit`. The detail names the limit.',
  },
  'too-many-own-streams': {
    status: 429,
    title: 'Too many live streams of one key or organization',
    remedy: 'Let one end first, or ask with `since` from time to time. The detail names the limit.',
  },
  'too-many-connections': {
    status: 429,
    title: 'Too many connections of one key or organization',
    remedy: 'Send further requests over connections that are open. The detail names the limit.',
  },
  'headers-too-large': {
    status: 431,
    title: 'The headers are too large',
    remedy: 'Keep all headers together within 16 KiB.',
  },
  internal: {
    status: 500,
    title: 'Something went wrong inside',
    remedy: 'Report the request id to the operator, who finds the cause in the log under it.',
  },
  'method-not-implemented': {
    status: 501,
    title: 'The method is not known to HTTP',
    remedy: 'Use GET, HEAD or OPTIONS.',
  },
  'not-published': {
    status: 503,
    title: 'The organization of the key is not there yet',
    remedy: 'Wait until the operator has restored it. One without data answers as an empty one.',
  },
  'data-unreadable': {
    status: 503,
    title: 'The data of the organization cannot be read',
    remedy: 'Try again later; if that does not help, tell the operator, who finds the reason in the log.',
  },
  'database-away': {
    status: 503,
    title: 'The database cannot be reached',
    remedy: 'Try again after as many seconds as the header `Retry-After` says.',
  },
  'chunks-away': {
    status: 503,
    title: 'The place where chunks lie cannot be reached',
    remedy: 'Try again after as many seconds as the header `Retry-After` says.',
  },
  'too-many-streams': {
    status: 503,
    title: 'There are too many live streams',
    remedy: 'Try again later, or ask with `since` from time to time.',
  },
  'server-busy': {
    status: 503,
    title: 'The server is busy',
    remedy: 'Try again after as many seconds as the header `Retry-After` says.',
  },
  'no-room': {
    status: 503,
    title: 'There is no room for an answer of this size',
    remedy: 'Ask for a shorter range, for pages with `limit`, or for CSV or NDJSON, which need none.',
  },
} as const satisfies Partial<Record<ErrorCode, ProblemKind>>;

export type ProblemCode = keyof typeof PROBLEMS;

export const PROBLEM_CODES = Object.keys(PROBLEMS).filter(isProblemCode);

function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEMS, code);
}

/** Whether an error is one that a client can be told about; everything else is a bug. */
function problemCodeOf(error: unknown): ProblemCode {
  if (error instanceof AppError && isProblemCode(error.code)) return error.code;
  // Whatever the framework refuses by itself is about the form of the request.
  const status: unknown = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined;
  return typeof status === 'number' && status >= 400 && status < 500 ? 'request-malformed' : 'internal';
}

/** `path` as `Target.shownPath`, or made by ourselves. */
export function problemBody(code: ProblemCode, detail: string, path: string, requestId: string): Buffer {
  const problem = {
    type: `/problems/${code}`,
    title: PROBLEMS[code].title,
    status: PROBLEMS[code].status,
    detail: scrubKeys(detail),
    instance: uriReference(path),
    code,
    request_id: requestId,
  };
  return Buffer.from(escapeLineEnds(JSON.stringify(problem)));
}

/** Header fields that belong to a problem, whoever sends it. A problem is about this moment and is not kept. */
export function problemHeaders(code: ProblemCode): Record<string, string> {
  const { status } = PROBLEMS[code];
  return {
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    ...(status === 401 && { 'www-authenticate': 'apikey realm="corkboard"' }),
    ...(status === 405 && { allow: ALLOWED_METHODS }),
    // A rate limit knows by itself how long to wait.
    ...((status === 503 || (status === 429 && code !== 'rate-limited')) && { 'retry-after': '5' }),
    ...((code === 'body-not-expected' || code === 'too-many-connections') && { connection: 'close' }),
  };
}

/** The only place that answers a failed request. The inside of an unexpected error goes to the log, not out. */
export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const code = problemCodeOf(error);
  request.visit.code = code;
  if (code === 'internal') request.visit.failure = error;
  if (error instanceof RefusedKeyError) request.visit.refusedKey = error.entry;
  const detail =
    code !== 'internal' && error instanceof AppError
      ? error.message
      : `${PROBLEMS[code].title}. ${PROBLEMS[code].remedy}`;
  const { shownPath } = readTarget(request.originalUrl);
  // Of an answer that could not be made.
  return reply
    .removeHeader('etag')
    .removeHeader('content-encoding')
    .removeHeader('content-length')
    .removeHeader('link')
    .removeHeader('sync-token')
    .code(PROBLEMS[code].status)
    .headers(problemHeaders(code))
    .send(problemBody(code, detail, shownPath, request.id));
}
