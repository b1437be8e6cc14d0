/**
 * Expected trouble. Everything that a person can cause or mend is an `AppError` with a code of this closed
 * union; whatever else is thrown is a bug. Codes are public (decision 13) and never reused for another meaning.
 */
export type ErrorCode =
  // The request is refused (server).
  | 'key-missing'
  | 'key-unknown'
  | 'key-expired'
  | 'key-revoked'
  | 'request-malformed'
  | 'parameter-unknown'
  | 'parameter-repeated'
  | 'parameter-malformed'
  | 'range-reversed'
  | 'range-too-fine'
  | 'cursor-malformed'
  | 'since-invalid'
  | 'identifier-malformed'
  | 'not-found'
  | 'lookup-not-allowed'
  | 'lookup-not-configured'
  | 'method-not-allowed'
  | 'method-not-implemented'
  | 'not-acceptable'
  | 'precondition-failed'
  | 'uri-too-long'
  | 'headers-too-large'
  | 'request-timeout'
  | 'body-not-expected'
  | 'rate-limited'
  | 'too-many-responses'
  | 'too-many-own-streams'
  | 'too-many-connections'
  | 'not-published'
  | 'data-unreadable'
  | 'database-away'
  | 'chunks-away'
  | 'no-room'
  | 'too-many-streams'
  | 'server-busy'
  | 'internal'
  // The command is refused (command line), also with `data-unreadable`, `database-away`, `chunks-away`.
  | 'organization-unknown'
  | 'organization-exists'
  | 'organization-malformed'
  | 'organization-busy'
  | 'key-id-unknown'
  | 'policy-malformed'
  | 'settings-refused'
  | 'option-malformed'
  | 'import-refused'
  | 'file-unreadable'
  | 'source-refused';

/** `message` is public: a full sentence that says what to do, without keys, paths of the machine or stack. */
export class AppError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'AppError';
    this.code = code;
  }
}
