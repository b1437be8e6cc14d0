/**
 * What a request asks: first as its text alone says it, then bound to a version and to what the key may see, which
 * settles every byte of the answer. Both are kept, because the same questions come again and again.
 */
import type { IncomingMessage } from 'node:http';
import type { Scope } from '../dataset/scope.ts';
import type { KeyEntry } from '../keys/keyring.ts';
import type { Representation, Variant } from '../render/answer.ts';
import { entityTag, scopeText } from './conditional.ts';
import { openCursor, type Place } from './cursor.ts';
import { Memory } from './memory.ts';
import { chooseEncoding, chooseRepresentation, type Encoding } from './negotiation.ts';
import type { Parameters } from './parameters.ts';
import { readParameters } from './query.ts';
import type { Route } from './route.ts';
import type { Secrets } from './secrets.ts';
import { readSubject, type Subject } from './subject.ts';
import { readTarget, type Target } from './target.ts';

export interface Question {
  readonly variant: Variant;
  readonly route: Route;
  readonly target: Target;
  readonly parameters: Parameters;
  readonly subject: Subject;
  readonly representation: Representation;
  readonly encoding: Encoding;
  /** Of all that was read for it; the same text is the same question. */
  readonly text: string;
}

/** A question to one version, with one scope and one kind of redaction. */
export interface BoundQuestion {
  /** What all pages of a walk have in common; the cursors of a walk are bound to it. */
  readonly walk: string;
  /** Where the cursor of the question points to. */
  readonly place: Place | undefined;
  /** Names the answer: the same for the same bytes only. */
  readonly etag: string;
}

const KEPT_QUESTIONS = 2048;

const questions = new Memory<Question>(KEPT_QUESTIONS);

/**
 * Throws `parameter-unknown`, `-repeated`, `-malformed`, `range-reversed`, `identifier-malformed` or
 * `not-acceptable`.
 */
export function readQuestion(
  variant: Variant,
  route: Route,
  requestTarget: string,
  request: IncomingMessage,
): Question {
  // All that is read below. No part can hold a line break, so that no two requests give the same text.
  const { accept = '\n', 'accept-encoding': acceptEncoding = '\n' } = request.headers;
  const text = `${variant} ${route.path}\n${requestTarget}\n${accept}\n${acceptEncoding}`;
  return questions.take(text, () => {
    const target = readTarget(requestTarget);
    const parameters = readParameters(target.query, route.parameters);
    const subject = readSubject(route, target.path);
    const representation = chooseRepresentation(request, parameters.format, route.representations);
    const encoding = chooseEncoding(request);
    return { variant, route, target, parameters, subject, representation, encoding, text };
  });
}

/** The questions that have been asked of one version of an organization's data. */
export class BoundQuestions {
  readonly #version: string;
  readonly #secrets: Secrets;
  readonly #bound = new Memory<BoundQuestion>(KEPT_QUESTIONS);

  constructor(version: string, secrets: Secrets) {
    this.#version = version;
    this.#secrets = secrets;
  }

  /** Throws `cursor-malformed`. */
  bind(question: Question, key: KeyEntry): BoundQuestion {
    const { email, name } = key.redact;
    const view = `${scopeNumber(key.scope)} ${email} ${name}`;
    return this.#bound.take(`${view}\n${question.text}`, () => {
      const walk = walkText(question, key);
      return {
        walk,
        place: openCursor(question.parameters.cursor, walk, this.#secrets),
        etag: entityTag([this.#version, walk, formText(question, key)], this.#secrets.entityTag),
      };
    });
  }
}

function walkText({ variant, route, subject, parameters }: Question, key: KeyEntry): string {
  const { start = null, end = null } = parameters;
  return JSON.stringify([variant, route.path, subject.text, start, end, scopeText(key.scope)]);
}

/** What else settles the bytes of an answer from one version. */
function formText({ parameters, representation, encoding }: Question, key: KeyEntry): string {
  const { limit = null, cursor = null, key: keyedBy = null } = parameters;
  const { email, name } = key.redact;
  return JSON.stringify([limit, cursor, keyedBy, email, name, representation, encoding]);
}

const scopeNumbers = new WeakMap<Scope, number>();
let scopesSeen = 0;

/**
 * Stands for a scope, which can name many thousands of ids, in a short text. Never the same for two scope objects,
 * and a scope never changes, so whatever is kept under it belongs to exactly that scope (decision 12).
 */
function scopeNumber(scope: Scope): number {
  let number = scopeNumbers.get(scope);
  if (number === undefined) {
    number = scopesSeen++;
    scopeNumbers.set(scope, number);
  }
  return number;
}
