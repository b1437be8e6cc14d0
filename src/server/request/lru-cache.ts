/**
 * A cache of values made from texts. It is limited in size, and only for values that depend on the
 * text alone, so that its content cannot become outdated.
 */
import { TwoGenerations } from '../bodies/doorkeeper.ts';

/** Longer texts are rare, and easy to send in large numbers, so they are not worth the memory. */
const LONGEST_TEXT = 1024;

export class LruCache<T> extends TwoGenerations<string, T> {
  /** The cached value of the text, or a new one. If `make` throws, nothing is cached. */
  take(text: string, make: () => T): T {
    const present = this.find(text);
    if (present !== undefined) return present;
    const made = make();
    if (text.length <= LONGEST_TEXT) this.keep(text, made);
    return made;
  }
}
