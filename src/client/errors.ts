/** What can go wrong with a request, as errors that a program can tell apart. None of them carries the key. */
import type { ProblemCode } from './problem-codes.ts';

/** Of every error of the client. What an abort signal gives as its reason is thrown as it is. */
export class CorkboardError extends Error {
  /** Stable: programs go by it. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** A refusal, as the problem document of the server tells it (RFC 9457), or an answer of something before the server. */
export class ProblemError extends CorkboardError {
  /** `unknown` when the answer is no problem document; a newer server may have codes that are not listed here. */
  declare readonly code: ProblemCode | 'unknown' | (string & {});
  readonly status: number;
  readonly title: string;
  /** What is wrong, in a sentence. */
  readonly detail: string;
  /** Under this id the operator finds the request in the log. */
  readonly requestId: string | undefined;
  /** How long the server wants to be left alone. */
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

/** No whole answer came, or none of this service. */
export class AnswerError extends CorkboardError {
  declare readonly code: 'unreachable' | 'cut-short' | 'redirected' | 'unreadable';

  // Only to narrow the code.
  constructor(code: AnswerError['code'], message: string, options?: ErrorOptions) {
    super(code, message, options);
  }
}

/** `text` without the key, wherever something on the way has repeated it. */
export function withoutKey(text: string, key: string | undefined): string {
  return key === undefined ? text : text.replaceAll(key, '…');
}
