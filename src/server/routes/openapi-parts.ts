/** The parts of the OpenAPI documents that all routes share: header fields and refusals. */
import { PROBLEM_CODES, PROBLEMS, type ProblemCode } from '../../domain/app-error.ts';
import { challengeOf } from '../http/problem.ts';
import { VARY } from '../request/negotiation.ts';

function text(description: string, example: string) {
  return { description, schema: { type: 'string' }, example };
}

export const RESPONSE_HEADERS = {
  ETag: text(
    'Entity tag of this response; send it as `If-None-Match` to check cheaply whether it has changed.',
    '"R6CpOyKZ8Vw"',
  ),
  'Accept-Ranges': text(
    'A part of this response can be requested with `Range`, and is sent as 206 with `Content-Range`. With `If-Range` and the entity tag it is sent only if the response has not changed.',
    'bytes',
  ),
  'Content-Disposition': text(
    'Name under which programs save the file.',
    'attachment; filename="canvas-board-7.csv"',
  ),
  'Cache-Control': text(
    'Clients may keep responses and must revalidate them; `no-store` for pages of this server.',
    'private, no-cache',
  ),
  Vary: text('Request header fields that the response depends on.', VARY),
  Link: text(
    'Link to the next page; absent on the last page.',
    '</a/v1/events?limit=100&cursor=c2Vl>; rel="next"',
  ),
  'Sync-Token': text(
    'Send it as `since` to get the changes since this response. With pages, use the token only after the last page.',
    '8mQ0kNTp1vOqIgxSZ4bVhA',
  ),
  'Data-Version': text(
    'Names the state of the data that this response shows. Responses to the same key with the same value show the same state, on all routes.',
    'Zq3v0bJ9mR7cXk2LwTn4Hg',
  ),
  'X-Request-Id': text(
    'Id of this request in the log of the server.',
    '5f0c9a52-2d1f-4f7a-9c1b-7f7f0e0e2a11',
  ),
  'Server-Timing': text('Time until the response began, in milliseconds.', 'total;dur=1.5'),
  'WWW-Authenticate': text(
    'Says that an API key is required, and how it can be sent.',
    challengeOf('key-unknown'),
  ),
  Allow: text('Allowed methods; with 405 only.', 'GET, HEAD, OPTIONS'),
  'Retry-After': text('Seconds to wait before the next attempt.', '5'),
  RateLimit: text('Remaining requests of this key, if it has a rate limit.', '"default";r=99;t=50'),
  'RateLimit-Policy': text('Rate limit of this key, if it has one.', '"default";q=100;w=60'),
} as const;

/** Sent with every response to a request that was counted. */
export const RATE_LIMIT_HEADERS = ['RateLimit', 'RateLimit-Policy'] as const;

interface RefusalResponse {
  /** Name of the component. */
  readonly name: string;
  readonly statuses: readonly number[];
  readonly description: string;
  readonly headers: readonly (keyof typeof RESPONSE_HEADERS)[];
}

function refusal(
  status: number,
  name: string,
  description: string,
  headers: RefusalResponse['headers'] = RATE_LIMIT_HEADERS,
): RefusalResponse {
  return { name, statuses: [status], description, headers };
}

/** One per status. Codes that share a status are distinguished by `code`. */
export const REFUSALS: readonly RefusalResponse[] = [
  refusal(400, 'BadRequest', 'Malformed request, an invalid parameter, or two different keys.'),
  // These requests are refused before they are counted.
  refusal(401, 'Unauthorized', 'The key is missing, unknown, expired or revoked.', ['WWW-Authenticate']),
  refusal(403, 'Forbidden', 'The key sees pseudonyms, or may not see or use LMS properties.'),
  refusal(
    404,
    'NotFound',
    'It does not exist, it is outside the scope of the key, or the look-up is not enabled.',
  ),
  refusal(406, 'NotAcceptable', 'No representation matches `Accept`.', ['Vary', ...RATE_LIMIT_HEADERS]),
  refusal(429, 'TooManyRequests', 'The rate limit of the key, or another limit, is reached.', [
    'Retry-After',
    ...RATE_LIMIT_HEADERS,
  ]),
  refusal(
    503,
    'ServiceUnavailable',
    'The data of the organization cannot be read, or the database cannot be reached.',
    ['Retry-After', ...RATE_LIMIT_HEADERS],
  ),
];

const OTHER_REASONS: Readonly<Record<number, string>> = {
  405: 'the interface is read-only',
  408: 'the request took too long to arrive',
  412: 'the entity tag in `If-Match` is not that of the response',
  414: 'the URL is longer than 8 KiB',
  416: 'the response has no such range of bytes',
  431: 'the headers are larger than 16 KiB',
  500: 'internal error; the log of the server has it under the request id',
  501: 'unknown method',
};

/** What can happen to any request, whatever its route: the response named `default`. */
export const OTHER_REFUSALS: RefusalResponse = {
  name: 'OtherRefusal',
  statuses: Object.keys(OTHER_REASONS).map(Number),
  description: `Refused for a reason that does not depend on the route: ${Object.entries(OTHER_REASONS)
    .map(([status, reason]) => `${status} (${reason})`)
    .join(', ')}.`,
  headers: ['Allow', ...RATE_LIMIT_HEADERS],
};

/** A problem document for each code of these statuses, by code. */
export function problemExamples(statuses: readonly number[]): object {
  const codes = PROBLEM_CODES.filter((code) => statuses.includes(PROBLEMS[code].status));
  return Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code) }]));
}

function exampleOf(code: ProblemCode) {
  const { status, title, remedy } = PROBLEMS[code];
  return {
    ...{ type: `/problems/${code}`, title, status, detail: remedy, instance: '/a/v1/events', code },
    request_id: '5f0c9a52-2d1f-4f7a-9c1b-7f7f0e0e2a11',
  };
}
