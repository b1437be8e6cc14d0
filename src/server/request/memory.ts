/**
 * What has been made of a text before, so that it need not be made again: bounded, and only for what follows from
 * the text alone, so that nothing in it can grow old.
 */
import { TwoGenerations } from '../bodies/doorkeeper.ts';

/** Longer texts are rare, and cheap to send in numbers: they are not worth the memory. */
const LONGEST_TEXT = 1024;

export class Memory<T> extends TwoGenerations<string, T> {
  /** The value kept for the text, or else a new one. When `make` throws nothing is kept. */
  take(text: string, make: () => T): T {
    const present = this.find(text);
    if (present !== undefined) return present;
    const made = make();
    if (text.length <= LONGEST_TEXT) this.keep(text, made);
    return made;
  }
}
