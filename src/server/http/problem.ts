/**
 * Problem documents (RFC 9457, decision 13): the only form in which a request is refused. The table
 * in `app-error.ts` lists all problems.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, isProblemCode, PROBLEMS, type ProblemCode } from '../../domain/app-error.ts';
import { escapeLineEnds } from '../../domain/json-text.ts';
import { RefusedKeyError } from '../../keys/keyring.ts';
import { ALLOWED_METHODS } from './methods.ts';
import { scrubKeys, uriReference } from './target.ts';

/** The problem code of an expected error; every other error is a bug. */
function problemCodeOf(error: unknown): ProblemCode {
  if (error instanceof AppError && isProblemCode(error.code)) return error.code;
  // Everything that the framework itself refuses is about the form of the request.
  const status: unknown = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined;
  return typeof status === 'number' && status >= 400 && status < 500 ? 'request-malformed' : 'internal';
}

/** `path` is `RequestTarget.shownPath`, or a constant path. */
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

/** The header fields of a problem. Problems describe the present moment, so they are not cached. */
export function problemHeaders(code: ProblemCode): Record<string, string> {
  const { status } = PROBLEMS[code];
  return {
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    ...(status === 401 && { 'www-authenticate': challengeOf(code) }),
    ...(status === 405 && { allow: ALLOWED_METHODS }),
    // A rate limit sets its own `retry-after`.
    ...((status === 503 || (status === 429 && code !== 'rate-limited')) && { 'retry-after': '5' }),
    ...((code === 'body-not-expected' || code === 'too-many-connections') && { connection: 'close' }),
  };
}

/** Names both ways to send a key. A key that was sent is an invalid token (RFC 6750, 3). */
export function challengeOf(code: ProblemCode): string {
  const error = code === 'key-missing' ? '' : ', error="invalid_token"';
  return `apikey realm="corkboard", Bearer realm="corkboard"${error}`;
}

/**
 * The only place that responds to a failed request. Details of an unexpected error are logged and
 * never sent.
 */
export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const code = problemCodeOf(error);
  request.visit.code = code;
  if (code === 'internal') request.visit.failure = error;
  if (error instanceof RefusedKeyError) request.visit.refusedKey = error.entry;
  const detail =
    code !== 'internal' && error instanceof AppError
      ? error.message
      : `${PROBLEMS[code].title}. ${PROBLEMS[code].remedy}`;
  const { shownPath } = request.visit.target;
  // Only this problem is about the range.
  if (code !== 'range-unsatisfiable') reply.removeHeader('content-range');
  // These header fields belong to the response that could not be made.
  return reply
    .removeHeader('accept-ranges')
    .removeHeader('etag')
    .removeHeader('content-disposition')
    .removeHeader('content-encoding')
    .removeHeader('content-length')
    .removeHeader('link')
    .removeHeader('sync-token')
    .removeHeader('data-version')
    .code(PROBLEMS[code].status)
    .headers(problemHeaders(code))
    .send(problemBody(code, detail, shownPath, request.id));
}
