/** Errors of requests, which programs can distinguish. None of them contains the key. */
import type { ProblemCode } from './problem-codes.ts';

/** Base class of all errors of the client. The reason of an abort signal is thrown unchanged. */
export class CorkboardError extends Error {
  /** Stable; use it in programs. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/**
 * An error response: a problem document of the server (RFC 9457), or the response of something in
 * front of the server.
 */
export class ProblemError extends CorkboardError {
  /**
   * `unknown` if the body is not a problem document. A newer server may have codes that are not
   * listed here.
   */
  declare readonly code: ProblemCode | 'unknown' | (string & {});
  readonly status: number;
  readonly title: string;
  /** One sentence that says what is wrong. */
  readonly detail: string;
  /** The id of the request in the log of the server. */
  readonly requestId: string | undefined;
  /** How long the server asks the client to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(problem: {
    readonly code: string;
    readonly status: number;
    readonly title: string;
    readonly detail: string;
    readonly requestId: string | undefined;
    readonly retryAfterMs: number | undefined;
  }) {
    super(problem.code, `${problem.detail} (${problem.status} ${problem.code})`);
    this.status = problem.status;
    this.title = problem.title;
    this.detail = problem.detail;
    this.requestId = problem.requestId;
    this.retryAfterMs = problem.retryAfterMs;
  }
}

/** There was no complete response, or it did not come from a Corkboard server. */
export class AnswerError extends CorkboardError {
  declare readonly code: 'unreachable' | 'cut-short' | 'redirected' | 'unreadable' | 'too-large';

  // Only narrows the type of `code`.
  constructor(code: AnswerError['code'], message: string, options?: ErrorOptions) {
    super(code, message, options);
  }
}

/** Removes the key from a text in which the server or a proxy may have repeated it. */
export function withoutKey(text: string, key: string | undefined): string {
  return key === undefined ? text : text.replaceAll(key, '…');
}
