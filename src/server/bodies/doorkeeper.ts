/**
 * Recent values and recent texts: a cache of values, and a memory of texts by fingerprints only.
 */

/**
 * A least-recently-used cache in two generations. A value that is used moves to the young
 * generation. When that one is full, it becomes the old generation, and values that have not been
 * used since are dropped. A hit costs one lookup, because no order is maintained.
 */
export class TwoGenerations<Key, Value> {
  readonly #limit: number;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();

  /** Keeps at least the `limit` values used last, and never more than twice as many. */
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
 * Remembers recent texts by fingerprints of 31 bits, which leave almost no work for the garbage
 * collector. It seldom mistakes a new text for a recent one. It remembers at least the `limit`
 * texts that came last, and at most twice as many.
 */
export class Doorkeeper {
  readonly #came: TwoGenerations<number, true>;

  constructor(limit: number) {
    this.#came = new TwoGenerations(limit);
  }

  /** Whether the text came before. Remembers it. */
  knows(text: string): boolean {
    const fingerprint = fingerprintOf(text);
    if (this.#came.find(fingerprint) !== undefined) return true;
    this.#came.keep(fingerprint, true);
    return false;
  }
}

/**
 * FNV-1a over UTF-16 code units, without the highest bit: V8 does not store such numbers as
 * objects.
 */
function fingerprintOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 1;
}
