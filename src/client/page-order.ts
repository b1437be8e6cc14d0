/**
 * Pages advance: a server could repeat them, or send new ones without an end (decision 55). Keeps
 * two earlier cursors and the identities of two earlier elements.
 */
import { AnswerError } from './errors.ts';

/** More than any list has: to request as many takes hours. */
const MOST_PAGES = 10_000_000;

/** A position in a sequence of texts that should be different; plain data, so it can be stored. */
export interface Step {
  /** The last text. It has this name because the progress of a pull has it. */
  readonly cursor: string | undefined;
  /** Number of texts so far, those of empty pages included. */
  readonly steps: number;
  /** Text of an earlier page. If it occurs again, the pages lead in a circle. */
  readonly mark: string | undefined;
}

export const NO_STEP: Step = { cursor: undefined, steps: 0, mark: undefined };

/**
 * The position after the next text; undefined if it repeats an earlier one. The mark is replaced at
 * each power of two, so a circle of any length is detected.
 */
export function stepTo(cursor: string, { cursor: last, steps: before, mark }: Step): Step | undefined {
  if (cursor === last || cursor === mark) return undefined;
  const steps = before + 1;
  const isPowerOfTwo = (steps & (steps - 1)) === 0;
  return { cursor, steps, mark: isPowerOfTwo ? cursor : mark };
}

interface OrderedPage {
  readonly elements: readonly unknown[];
  readonly cursor: string | undefined;
}

/** Checks the pages of one list, in their order. */
export class PageOrder {
  #cursors = NO_STEP;
  /** Identities of the first elements of pages. */
  #elements = NO_STEP;
  readonly #most: number;

  constructor(most = MOST_PAGES) {
    this.#most = most;
  }

  /** The cursor of the page after this one; undefined for the last. Throws `AnswerError`. */
  next({ elements, cursor }: OrderedPage): string | undefined {
    if (cursor === undefined) return undefined;
    const [first] = elements;
    if (first === undefined) throw unordered('A page of the response is empty and not the last one');
    this.#cursors = stepTo(cursor, this.#cursors) ?? circle();
    const identity = identityOf(first);
    if (identity !== undefined) this.#elements = stepTo(identity, this.#elements) ?? circle();
    if (this.#cursors.steps < this.#most) return cursor;
    throw unordered(`The response has more than ${this.#most.toLocaleString('en')} pages`);
  }
}

/** Occurs once in a list. Undefined for events that have no identity: they can be equal. */
function identityOf(element: unknown): string | undefined {
  if (typeof element !== 'object' || element === null) return undefined;
  if ('forgotten' in element) return `forgotten ${textOf(userOf(element.forgotten))}`;
  const isDeleted = 'deleted' in element;
  if ('sync_id' in element) return `${isDeleted} ${textOf(element.sync_id)}`;
  return 'id' in element ? `${isDeleted} ${textOf(element.id)}` : undefined;
}

/** The user of an erasure; undefined if it has none. */
export function userOf(forgotten: unknown): unknown {
  const isObject = typeof forgotten === 'object' && forgotten !== null;
  return isObject && 'user' in forgotten ? forgotten.user : undefined;
}

/** Without the contents of arrays and objects, which can be too deep for `JSON.stringify`. */
function textOf(value: unknown): string {
  return typeof value === 'object' ? 'object' : String(value);
}

function circle(): never {
  throw unordered('The pages of the response lead in a circle');
}

function unordered(what: string): AnswerError {
  return new AnswerError('unreadable', `${what}. It may come from a different service.`);
}
