/**
 * Pages advance: a server could repeat them, or send new ones without an end (decision 55). Needs
 * memory for one earlier page only.
 */
import { AnswerError } from './errors.ts';

/** More than any list has: to request as many takes hours. */
const MOST_PAGES = 10_000_000;

/** A position in a sequence of texts that should be different; plain data, so it can be stored. */
export interface Step {
  readonly cursor: string | undefined;
  /** Number of texts so far. */
  readonly steps: number;
  /** One of them. */
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
  /** The first elements of pages. */
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
    if (isUnique(first)) this.#elements = stepTo(JSON.stringify(first), this.#elements) ?? circle();
    if (this.#cursors.steps < this.#most) return cursor;
    throw unordered(`The response has more than ${this.#most.toLocaleString('en')} pages`);
  }
}

/** Events of a list that have no identity can be equal. */
function isUnique(element: unknown): boolean {
  return typeof element === 'object' && element !== null && ('sync_id' in element || 'id' in element);
}

function circle(): never {
  throw unordered('The pages of the response lead in a circle');
}

function unordered(what: string): AnswerError {
  return new AnswerError('unreadable', `${what}. It may come from a different service.`);
}
