/** The parts of the OpenAPI documents that all routes share: header fields and refusals. */
import { PROBLEMS, type ProblemCode } from '../../domain/app-error.ts';

function text(description: string, example: string) {
  return { description, schema: { type: 'string' }, example };
}

export const RESPONSE_HEADERS = {
  ETag: text(
    'Entity tag of this response; send it as `If-None-Match` to check cheaply whether it has changed.',
    '"R6CpOyKZ8Vw"',
  ),
  'Cache-Control': text(
    'Clients may keep responses and must revalidate them; `no-store` for pages of this server.',
    'private, no-cache',
  ),
  Vary: text('Request header fields that the response depends on.', 'apikey, Accept, Accept-Encoding'),
  Link: text(
    'Link to the next page; absent on the last page.',
    '</a/v1/events?limit=100&cursor=c2Vl>; rel="next"',
  ),
  'Sync-Token': text(
    'Send it as `since` to get the changes since this response. With pages, use the token only after the last page.',
    '8mQ0kNTp1vOqIgxSZ4bVhA',
  ),
  'X-Request-Id': text(
    'Id of this request in the log of the server.',
    '5f0c9a52-2d1f-4f7a-9c1b-7f7f0e0e2a11',
  ),
  'Server-Timing': text('Time until the response began, in milliseconds.', 'total;dur=1.5'),
  'WWW-Authenticate': text('Says that an API key is required.', 'apikey realm="corkboard"'),
  Allow: text('Allowed methods.', 'GET, HEAD, OPTIONS'),
  'Retry-After': text('Seconds to wait before the next attempt.', '5'),
  RateLimit: text('Remaining requests of this key, if it has a rate limit.', '"default";r=99;t=50'),
  'RateLimit-Policy': text('Rate limit of this key, if it has one.', '"default";q=100;w=60'),
} as const;

/** Sent with every response to a request that was counted. */
export const RATE_LIMIT_HEADERS = ['RateLimit', 'RateLimit-Policy'] as const;
/** Statuses of requests that are refused before they are counted. */
export const BEFORE_RATE_LIMIT: readonly number[] = [401, 408, 431, 501];

interface RefusalResponse {
  readonly status: number;
  /** Name of the component. */
  readonly name: string;
  readonly description: string;
  readonly headers: readonly (keyof typeof RESPONSE_HEADERS)[];
  readonly example: unknown;
}

function refusal(
  name: string,
  code: ProblemCode,
  description: string,
  headers: RefusalResponse['headers'] = [],
): RefusalResponse {
  const { status, title, remedy } = PROBLEMS[code];
  const example = {
    type: `/problems/${code}`,
    title,
    status,
    detail: remedy,
    instance: '/a/v1/events',
    code,
    request_id: '5f0c9a52-2d1f-4f7a-9c1b-7f7f0e0e2a11',
  };
  return { status, name, description, headers, example };
}

/** One per status. Codes that share a status are distinguished by `code`. */
export const REFUSALS: readonly RefusalResponse[] = [
  refusal('BadRequest', 'parameter-unknown', 'Malformed request, or an invalid parameter.'),
  refusal('Unauthorized', 'key-missing', 'The key is missing, unknown, expired or revoked.', [
    'WWW-Authenticate',
  ]),
  refusal('Forbidden', 'lookup-not-allowed', 'The key sees pseudonyms and may not look up users.'),
  refusal(
    'NotFound',
    'not-found',
    'It does not exist, it is outside the scope of the key, or the look-up is not enabled.',
  ),
  refusal('MethodNotAllowed', 'method-not-allowed', 'The interface is read-only.', ['Allow']),
  refusal('NotAcceptable', 'not-acceptable', 'No representation matches `Accept`.', ['Vary']),
  refusal('RequestTimeout', 'request-timeout', 'The request took too long to arrive.'),
  refusal(
    'PreconditionFailed',
    'precondition-failed',
    'The entity tag in `If-Match` is not that of the response.',
  ),
  refusal('UriTooLong', 'uri-too-long', 'The URL is longer than 8 KiB.'),
  refusal('TooManyRequests', 'rate-limited', 'The rate limit of the key, or another limit, is reached.', [
    'Retry-After',
  ]),
  refusal('HeadersTooLarge', 'headers-too-large', 'The headers are larger than 16 KiB.'),
  refusal('Internal', 'internal', 'Internal error; the log of the server has it under the request id.'),
  refusal('NotImplemented', 'method-not-implemented', 'Unknown HTTP method.'),
  refusal(
    'ServiceUnavailable',
    'data-unreadable',
    'The data of the organization cannot be read, or the database cannot be reached.',
    ['Retry-After'],
  ),
];
