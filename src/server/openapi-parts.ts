/** The parts of the OpenAPI documents that all routes share: header fields and refusals. */
import { PROBLEMS, type ProblemCode } from './problem.ts';

function text(description: string, example: string) {
  return { description, schema: { type: 'string' }, example };
}

export const RESPONSE_HEADERS = {
  ETag: text(
    'Names this answer; send it as `If-None-Match` to learn cheaply whether it still holds.',
    '"R6CpOyKZ8Vw"',
  ),
  'Cache-Control': text(
    'Clients may keep responses and must revalidate them; `no-store` for pages of this server.',
    'private, no-cache',
  ),
  Vary: text('Request header fields that the answer depends on.', 'apikey, Accept, Accept-Encoding'),
  Link: text(
    'Where the next page is; absent on the last one.',
    '</a/v1/events?limit=100&cursor=c2Vl>; rel="next"',
  ),
  'Sync-Token': text(
    'Send it as `since` to learn what has changed since this answer was made; of the pages of a walk, when the last is there.',
    '8mQ0kNTp1vOqIgxSZ4bVhA',
  ),
  'X-Request-Id': text(
    'Under this id the operator finds the request in the log.',
    '5f0c9a52-2d1f-4f7a-9c1b-7f7f0e0e2a11',
  ),
  'Server-Timing': text('Time until the answer began, in milliseconds.', 'total;dur=1.5'),
  'WWW-Authenticate': text('Says that a key is wanted.', 'apikey realm="corkboard"'),
  Allow: text('The methods that are allowed.', 'GET, HEAD, OPTIONS'),
  'Retry-After': text('Seconds to wait before asking again.', '5'),
  RateLimit: text('What is left to this key, where rate limits are on.', '"default";r=99;t=50'),
  'RateLimit-Policy': text('The limit of this key, where rate limits are on.', '"default";q=100;w=60'),
} as const;

/** Sent with every response to a request that was counted. */
export const RATE_LIMIT_HEADERS = ['RateLimit', 'RateLimit-Policy'] as const;
/** Statuses of requests that are refused before they are counted. */
export const BEFORE_RATE_LIMIT: readonly number[] = [401, 408, 431, 501];

interface Refusal {
  readonly status: number;
  /** Of the component. */
  readonly name: string;
  readonly description: string;
  readonly headers: readonly (keyof typeof RESPONSE_HEADERS)[];
  readonly example: unknown;
}

function refusal(
  name: string,
  code: ProblemCode,
  description: string,
  headers: Refusal['headers'] = [],
): Refusal {
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

/** One a status; the codes that share a status are told apart by `code`. */
export const REFUSALS: readonly Refusal[] = [
  refusal('BadRequest', 'parameter-unknown', 'The request cannot be read, or a parameter is refused.'),
  refusal('Unauthorized', 'key-missing', 'The key is missing, unknown, expired or revoked.', [
    'WWW-Authenticate',
  ]),
  refusal('Forbidden', 'lookup-not-allowed', 'The key sees pseudonyms and may not look up users.'),
  refusal(
    'NotFound',
    'not-found',
    'It does not exist, the key may not see it, or the look-up is not switched on.',
  ),
  refusal('MethodNotAllowed', 'method-not-allowed', 'The interface is read-only.', ['Allow']),
  refusal('NotAcceptable', 'not-acceptable', 'No acceptable representation exists.', ['Vary']),
  refusal('RequestTimeout', 'request-timeout', 'The request took too long to arrive.'),
  refusal(
    'PreconditionFailed',
    'precondition-failed',
    'The entity tag in `If-Match` is not that of the response.',
  ),
  refusal('UriTooLong', 'uri-too-long', 'The URL is longer than 8 KiB.'),
  refusal('TooManyRequests', 'rate-limited', 'The key has used up its requests for now.', ['Retry-After']),
  refusal('HeadersTooLarge', 'headers-too-large', 'The headers are larger than 16 KiB.'),
  refusal('Internal', 'internal', 'Something went wrong inside; the log has it under the request id.'),
  refusal('NotImplemented', 'method-not-implemented', 'HTTP knows no such method.'),
  refusal(
    'ServiceUnavailable',
    'data-unreadable',
    'The data of the organization cannot be read, or the database cannot be reached.',
    ['Retry-After'],
  ),
];
