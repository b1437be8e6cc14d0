/**
 * What a request asks: first as its text alone says it, then bound to a version and to what the key may see, which
 * settles every byte of the answer. Both are kept, because the same questions come again and again.
 */
import type { IncomingMessage } from 'node:http';
import type { Scope } from '../dataset/scope.ts';
import type { KeyEntry } from '../keys/keyring.ts';
import type { Representation } from '../render/answer.ts';
import { entityTag, scopeText } from './conditional.ts';
import { openCursor, type Place } from './cursor.ts';
import { Memory } from './memory.ts';
import { chooseEncoding, chooseRepresentation, type Encoding } from './negotiation.ts';
import type { Parameters } from './parameters.ts';
import { readParameters } from './query.ts';
import type { Interface, Route } from './route.ts';
import type { Secrets } from './secrets.ts';
import { readSubject, type Subject } from './subject.ts';
import { readTarget, type Target } from './target.ts';

export interface Question {
  readonly variant: Interface;
  readonly route: Route;
  readonly target: Target;
  readonly parameters: Parameters;
  readonly subject: Subject;
  readonly representation: Representation;
  readonly encoding: Encoding;
  /** As it was bound last: nearly always it comes again from the same key, to the same version. */
  lastBound: LastBound | undefined;
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

interface LastBound extends BoundQuestion {
  readonly by: BoundQuestions;
  readonly scope: Scope;
  readonly email: boolean;
  readonly name: boolean;
}

const KEPT_QUESTIONS = 2048;

const questions = new Memory<Question>(KEPT_QUESTIONS);

/**
 * Throws `parameter-unknown`, `-repeated`, `-malformed`, `range-reversed`, `identifier-malformed` or
 * `not-acceptable`.
 */
export function readQuestion(
  variant: Interface,
  route: Route,
  requestTarget: string,
  request: IncomingMessage,
): Question {
  // All that is read below. No part can hold a line break or a zero byte, so that no two requests give the same text.
  const { accept = '\0', 'accept-encoding': acceptEncoding = '\0' } = request.headers;
  const text = `${variant} ${route.path}\n${requestTarget}\n${accept}\n${acceptEncoding}`;
  return questions.take(text, () => {
    const target = readTarget(requestTarget);
    const parameters = readParameters(target.query, route.parameters);
    const subject = readSubject(route, target.path);
    const representation = chooseRepresentation(request, parameters.format, route.representations);
    const encoding = chooseEncoding(request);
    return { variant, route, target, parameters, subject, representation, encoding, lastBound: undefined };
  });
}

/** Binds questions to one version of an organization's data. */
export class BoundQuestions {
  readonly #version: string;
  readonly #secrets: Secrets;

  constructor(version: string, secrets: Secrets) {
    this.#version = version;
    this.#secrets = secrets;
  }

  /** Throws `cursor-malformed`. */
  bind(question: Question, key: KeyEntry): BoundQuestion {
    const { scope, redact } = key;
    const last = question.lastBound;
    // A scope never changes, so what was made for this very one belongs to exactly that scope (decision 12).
    if (
      last?.by === this &&
      last.scope === scope &&
      last.email === redact.email &&
      last.name === redact.name
    ) {
      return last;
    }
    const walk = walkText(question, key);
    question.lastBound = {
      ...{ by: this, scope, email: redact.email, name: redact.name },
      walk,
      place: openCursor(question.parameters.cursor, walk, this.#secrets),
      etag: entityTag([this.#version, walk, formText(question, key)], this.#secrets.entityTag),
    };
    return question.lastBound;
  }
}

function walkText({ variant, route, subject, parameters }: Question, key: KeyEntry): string {
  const { start = null, end = null, board, user, action } = parameters;
  const filter = [board, user, action].map((value) => (value === undefined ? null : String(value)));
  return JSON.stringify([variant, route.path, subject.text, start, end, filter, scopeText(key.scope)]);
}

/** What else settles the bytes of an answer from one version. */
function formText({ route, parameters, representation, encoding }: Question, key: KeyEntry): string {
  const { email, name } = key.redact;
  const given = route.parameters.map((parameter) => parameters[parameter] ?? null);
  const exact = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
  return JSON.stringify([given, email, name, representation, encoding], exact);
}
