/**
 * Memoizes results that are slow to compute, mainly fragments. Each result is computed on first
 * use, once for all concurrent callers. It is kept until more than `limit` results exist; then the
 * least recently used one is dropped. A failure is not kept: the next call tries again.
 */
export class AsyncMemo<T, Name = string> {
  /** With a limit, the least recently used one first. */
  readonly #made = new Map<Name, Promise<T>>();
  readonly #limit: number;

  constructor(limit = Number.POSITIVE_INFINITY) {
    this.#limit = limit;
  }

  take(name: Name, make: () => Promise<T>): Promise<T> {
    const present = this.#made.get(name);
    if (present !== undefined) {
      if (this.#limit !== Number.POSITIVE_INFINITY) this.#moveToEnd(name, present);
      return present;
    }
    const made = make();
    this.#made.set(name, made);
    const [oldest] = this.#made.keys();
    if (oldest !== undefined && this.#made.size > this.#limit) this.#made.delete(oldest);
    made.catch(() => {
      // It may have been dropped and made again.
      if (this.#made.get(name) === made) this.#made.delete(name);
    });
    return made;
  }

  /** A map from which names are removed is rebuilt again and again, so not without a limit. */
  #moveToEnd(name: Name, made: Promise<T>): void {
    this.#made.delete(name);
    this.#made.set(name, made);
  }
}
