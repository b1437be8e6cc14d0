/**
 * Expected errors. Every error that a user can cause or fix is an `AppError` with a code of this
 * closed union; anything else that is thrown is a bug. Codes are public (decision 13) and are never
 * reused with a different meaning. This one table describes each of them.
 */
interface ProblemKind {
  readonly status: number;
  readonly title: string;
  /** How to fix it, for the reference. */
  readonly remedy: string;
}

/**
 * The reasons for which a request is refused. `docs/errors.md` lists the same; a test compares the
 * two.
 */
export const PROBLEMS = {
  'request-malformed': {
    status: 400,
    title: 'Malformed request',
    remedy: 'Send well-formed HTTP/1.1 with one `Host` header and a percent-encoded URL.',
  },
  'parameter-unknown': {
    status: 400,
    title: 'Unknown query parameter',
    remedy: 'Correct the name; the detail names the nearest known one. Unknown parameters are never ignored.',
  },
  'parameter-repeated': {
    status: 400,
    title: 'Repeated query parameter',
    remedy: 'Give every parameter once.',
  },
  'parameter-malformed': {
    status: 400,
    title: 'Invalid query parameter value',
    remedy: 'The detail says what is expected.',
  },
  'range-reversed': {
    status: 400,
    title: 'Time range ends before it starts',
    remedy: 'Give a `start` that is not later than `end`.',
  },
  'range-too-fine': {
    status: 400,
    title: 'Time range is too fine',
    remedy: 'Request a shorter range, a longer `interval`, or fewer series with `top`.',
  },
  'cursor-malformed': {
    status: 400,
    title: 'Cursor does not match this request',
    remedy: 'Follow the `Link` header unchanged, with the same key, or start again without a cursor.',
  },
  'since-invalid': {
    status: 400,
    title: 'Sync token does not match this request',
    remedy:
      'Start again with `since=start` and an empty table: the route, a filter, or what the key sees has changed.',
  },
  'cursor-scope-changed': {
    status: 400,
    title: 'Cursor was issued for a different scope',
    remedy:
      'Start again without a cursor: what the key sees has changed, or the cursor is that of a different key.',
  },
  'since-scope-changed': {
    status: 400,
    title: 'Sync token was issued for a different scope',
    remedy:
      'Start again with `since=start` and an empty table: what the key sees has changed, or the token is that of a different key.',
  },
  'identifier-malformed': {
    status: 400,
    title: 'Invalid identifier',
    remedy: 'Give the identifier in decimal digits.',
  },
  'body-not-expected': {
    status: 400,
    title: 'Unexpected request body',
    remedy: 'Send no body. Up to 64 KiB are ignored with GET and HEAD.',
  },
  'key-ambiguous': {
    status: 400,
    title: 'Different API keys',
    remedy: 'Send one key, either in `apikey` or in `Authorization`. If both have one, it must be the same.',
  },
  'key-missing': {
    status: 401,
    title: 'Missing API key',
    remedy: 'Send the key in the header `apikey`, or as `Authorization: Bearer KEY`.',
  },
  'key-unknown': {
    status: 401,
    title: 'Invalid API key',
    remedy: 'Check the key for missing characters, or ask the operator for a new one.',
  },
  'key-expired': { status: 401, title: 'Expired API key', remedy: 'Ask the operator for a new key.' },
  'key-revoked': {
    status: 401,
    title: 'Revoked API key',
    remedy: 'Ask the operator for a new key.',
  },
  'lookup-not-allowed': {
    status: 403,
    title: 'LMS look-up is not allowed for this key',
    remedy: 'Ask the operator for a key with this permission. Redacting keys do not have it by default.',
  },
  'lms-ids-not-allowed': {
    status: 403,
    title: 'LMS ids are not allowed for this key',
    remedy: 'Leave out the parameter `id`, or ask the operator for a key with `--allow-lms-lookup`.',
  },
  'gradebook-not-allowed': {
    status: 403,
    title: 'Gradebook is not allowed for this key',
    remedy:
      'Ask the operator for a key that redacts nothing: a gradebook cannot match pseudonyms with its users.',
  },
  'split-not-allowed': {
    status: 403,
    title: 'Split by LMS property is not allowed for this key',
    remedy: 'Ask the operator for a key with this permission. Keys do not have it by default.',
  },
  'network-not-allowed': {
    status: 403,
    title: 'API key is not allowed from this address',
    remedy: 'Use the key from a network that is permitted for it, or ask the operator to permit this one.',
  },
  'not-found': {
    status: 404,
    title: 'Not found',
    remedy:
      'Check the path and the identifier. Anything outside the scope of the key is reported as not found, too.',
  },
  'lookup-not-configured': {
    status: 404,
    title: 'Look-up is not enabled',
    remedy: 'Ask the operator to enable the look-up by course or by this LMS user property.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'Method not allowed',
    remedy: 'Use one of the methods in the header `Allow`. The interface is read-only.',
  },
  'not-acceptable': {
    status: 406,
    title: 'Not acceptable',
    remedy: 'Accept one of the representations listed in the detail.',
  },
  'request-timeout': {
    status: 408,
    title: 'Request timeout',
    remedy: 'Send the whole request at once.',
  },
  'precondition-failed': {
    status: 412,
    title: 'Precondition failed',
    remedy: 'Send the request without `If-Match`, or with the current entity tag of the response.',
  },
  'uri-too-long': { status: 414, title: 'URI too long', remedy: 'Shorten the URL to at most 8 KiB.' },
  'range-unsatisfiable': {
    status: 416,
    title: 'Range not satisfiable',
    remedy: 'Ask for one range that begins before the end of the response. `Content-Range` tells its length.',
  },
  'rate-limited': {
    status: 429,
    title: 'Too many requests',
    remedy: 'Wait the number of seconds given in the header `Retry-After`.',
  },
  'too-many-responses': {
    status: 429,
    title: 'Too many large responses at once',
    remedy:
      'Wait until a large response of this key or its organization has ended, or request pages with `limit`. The detail names the limit.',
  },
  'too-many-own-streams': {
    status: 429,
    title: 'Too many live streams of this key or organization',
    remedy: 'Close one first, or poll with `since`. The detail names the limit.',
  },
  'too-many-connections': {
    status: 429,
    title: 'Too many connections of this key or organization',
    remedy: 'Reuse open connections. The detail names the limit.',
  },
  'headers-too-large': {
    status: 431,
    title: 'Request header fields too large',
    remedy: 'Keep the header fields within 16 KiB in total.',
  },
  internal: {
    status: 500,
    title: 'Internal server error',
    remedy: 'Report the request id to the operator; the log lists the cause under it.',
  },
  'method-not-implemented': {
    status: 501,
    title: 'Method not implemented',
    remedy: 'Use GET, HEAD or OPTIONS.',
  },
  'not-published': {
    status: 503,
    title: 'Organization not available',
    remedy: 'Wait until the operator has restored it. An organization without data returns empty lists.',
  },
  'data-unreadable': {
    status: 503,
    title: 'Data cannot be read',
    remedy: 'Try again later. If the error persists, tell the operator; the log names the reason.',
  },
  'database-away': {
    status: 503,
    title: 'Database unavailable',
    remedy: 'Try again after the number of seconds given in the header `Retry-After`.',
  },
  'chunks-away': {
    status: 503,
    title: 'Chunk storage unavailable',
    remedy: 'Try again after the number of seconds given in the header `Retry-After`.',
  },
  'too-many-streams': {
    status: 503,
    title: 'Too many live streams',
    remedy: 'Try again later, or poll with `since`.',
  },
  'server-busy': {
    status: 503,
    title: 'Server busy',
    remedy: 'Try again after the number of seconds given in the header `Retry-After`.',
  },
  'no-room': {
    status: 503,
    title: 'Not enough disk space for this response',
    remedy: 'Request a shorter range, pages with `limit`, or CSV or NDJSON, which need no disk space.',
  },
} as const satisfies Record<string, ProblemKind>;

export type ProblemCode = keyof typeof PROBLEMS;

export const PROBLEM_CODES = Object.keys(PROBLEMS).filter(isProblemCode);

export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEMS, code);
}

/** The additional reasons for which a command is refused; it may also use those above. */
type CommandCode =
  | 'organization-unknown'
  | 'organization-exists'
  | 'organization-malformed'
  | 'organization-busy'
  | 'version-unknown'
  | 'key-id-unknown'
  | 'key-life-refused'
  | 'policy-malformed'
  | 'settings-refused'
  | 'option-malformed'
  | 'import-refused'
  | 'restore-refused'
  | 'erasure-refused'
  | 'removal-refused'
  | 'copy-busy'
  | 'copy-refused'
  | 'file-unreadable'
  | 'source-refused';

export type ErrorCode = ProblemCode | CommandCode;

/**
 * `message` is public: a full sentence that says what to do, without keys, local paths or stack
 * traces.
 */
export class AppError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'AppError';
    this.code = code;
  }
}

/** The last sentence of errors about damage. */
export const ASK_CHECK = '"corkboard check" says what to do.';
