/**
 * What has been made of a text before, so that it need not be made again: bounded, and only for what follows from
 * the text alone, so that nothing in it can grow old.
 */

/** Longer texts are rare, and cheap to send in numbers: they are not worth the memory. */
const LONGEST_TEXT = 1024;

/**
 * Two generations: what is asked for lives on in the young one; when that is full it becomes the old one, and what
 * nobody has asked for since goes. A hit costs one look-up, as no order has to be kept.
 */
export class Memory<T> {
  readonly #limit: number;
  #young = new Map<string, T>();
  #old = new Map<string, T>();

  /** Holds at least the `limit` values used last, and never more than twice as many. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The value kept for the text, or else a new one. When `make` throws nothing is kept. */
  take(text: string, make: () => T): T {
    const present = this.find(text);
    if (present !== undefined) return present;
    const made = make();
    if (text.length <= LONGEST_TEXT) this.keep(text, made);
    return made;
  }

  find(text: string): T | undefined {
    const young = this.#young.get(text);
    if (young !== undefined) return young;
    const old = this.#old.get(text);
    if (old !== undefined) this.keep(text, old);
    return old;
  }

  keep(text: string, value: T): void {
    if (this.#young.size >= this.#limit) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(text, value);
  }
}
