/**
 * A cache of values made from texts. It is limited in size, and only for values that depend on the
 * text alone, so that its content cannot become outdated.
 */
import { Doorkeeper, TwoGenerations } from '../bodies/doorkeeper.ts';

/** Longer texts are rare, and easy to send in large numbers, so they are not worth the memory. */
const LONGEST_TEXT = 1024;

export class LruCache<T> extends TwoGenerations<string, T> {
  /**
   * Values of texts that come only once are not cached: the garbage collector would copy each of
   * them twice for nothing.
   */
  readonly #came: Doorkeeper;

  constructor(limit: number) {
    super(limit);
    this.#came = new Doorkeeper(limit);
  }

  /**
   * The cached value of the text, or a new one, which is cached if the text came before. If `make`
   * throws, nothing is cached.
   */
  take(text: string, make: () => T): T {
    const present = this.find(text);
    if (present !== undefined) return present;
    const made = make();
    if (text.length <= LONGEST_TEXT && this.#came.knows(text)) this.keep(text, made);
    return made;
  }
}
