/**
 * Where things are kept that take long to make, fragments above all: made on first use, once however many ask at the
 * same time, kept for good or until more than `limit` are there, when the oldest goes. A failure is not kept: the next
 * one to ask tries again.
 */
export class Shelf<T, Name = string> {
  readonly #made = new Map<Name, Promise<T>>();
  readonly #limit: number;

  constructor(limit = Number.POSITIVE_INFINITY) {
    this.#limit = limit;
  }

  take(name: Name, make: () => Promise<T>): Promise<T> {
    const present = this.#made.get(name);
    if (present !== undefined) return present;
    const made = make();
    this.#made.set(name, made);
    const [oldest] = this.#made.keys();
    if (oldest !== undefined && this.#made.size > this.#limit) this.#made.delete(oldest);
    made.catch(() => this.#made.delete(name));
    return made;
  }
}
