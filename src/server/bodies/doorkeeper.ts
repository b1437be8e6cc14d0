/** What came lately: values of which the ones used last are kept, and texts of which nothing is kept. */

/**
 * Two generations: what is asked for lives on in the young one; when that is full it becomes the old one, and what
 * nobody has asked for since goes. A hit costs one look-up, as no order has to be kept.
 */
export class TwoGenerations<Key, Value> {
  readonly #limit: number;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();

  /** Holds at least the `limit` values used last, and never more than twice as many. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  find(key: Key): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.keep(key, old);
    return old;
  }

  keep(key: Key, value: Value): void {
    if (this.#young.size >= this.#limit) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }
}

/**
 * Tells what came lately, by fingerprints of 31 bits: next to nothing of it is left to the garbage collector. A text that
 * did not come is seldom taken for one that did. Knows at least the `limit` texts that came last, and at most twice as
 * many.
 */
export class Doorkeeper {
  readonly #came: TwoGenerations<number, true>;

  constructor(limit: number) {
    this.#came = new TwoGenerations(limit);
  }

  /** Whether the text came before; from now on it did. */
  knows(text: string): boolean {
    const fingerprint = fingerprintOf(text);
    if (this.#came.find(fingerprint) !== undefined) return true;
    this.#came.keep(fingerprint, true);
    return false;
  }
}

/** FNV-1a over the units of UTF-16, without the uppermost bit: such numbers are no objects. */
function fingerprintOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 1;
}
