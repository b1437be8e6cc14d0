/**
 * What has been made of a text before, so that it need not be made again: bounded, and only for what follows from
 * the text alone, so that nothing in it can grow old.
 */

/** Longer texts are rare, and cheap to send in numbers: they are not worth the memory. */
const LONGEST_TEXT = 1024;

/**
 * Tells what came lately, by fingerprints of 31 bits: next to nothing of it is left to the garbage collector. Two
 * generations, as below. A text that did not come is seldom taken for one that did.
 */
export class Doorkeeper {
  readonly #limit: number;
  #young = new Set<number>();
  #old = new Set<number>();

  /** Knows at least the `limit` texts that came last, and at most twice as many. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether the text came before; from now on it did. */
  knows(text: string): boolean {
    const fingerprint = fingerprintOf(text);
    if (this.#young.has(fingerprint)) return true;
    if (this.#young.size >= this.#limit) {
      this.#old = this.#young;
      this.#young = new Set();
    }
    this.#young.add(fingerprint);
    return this.#old.has(fingerprint);
  }
}

/** FNV-1a over the units of UTF-16, without the uppermost bit: such numbers are no objects. */
function fingerprintOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 1;
}

/**
 * Two generations: what is asked for lives on in the young one; when that is full it becomes the old one, and what
 * nobody has asked for since goes. A hit costs one look-up, as no order has to be kept.
 */
export class Memory<T> {
  readonly #limit: number;
  readonly #doorkeeper: Doorkeeper | undefined;
  #young = new Map<string, T>();
  #old = new Map<string, T>();

  /**
   * Holds at least the `limit` values used last, and never more than twice as many; with a doorkeeper, of texts that it
   * knows.
   */
  constructor(limit: number, doorkeeper?: Doorkeeper) {
    this.#limit = limit;
    this.#doorkeeper = doorkeeper;
  }

  /** The value kept for the text, or else a new one. When `make` throws nothing is kept. */
  take(text: string, make: () => T): T {
    const present = this.find(text);
    if (present !== undefined) return present;
    const made = make();
    if (text.length <= LONGEST_TEXT && this.#doorkeeper?.knows(text) !== false) this.keep(text, made);
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
