/**
 * Where fragments are kept: made on first use, once however many ask at the same time, kept for good. A failure is
 * not kept: the next one to ask tries again.
 */
export class Shelf<T> {
  readonly #made = new Map<string, Promise<T>>();

  take(name: string, make: () => Promise<T>): Promise<T> {
    const present = this.#made.get(name);
    if (present !== undefined) return present;
    const made = make();
    this.#made.set(name, made);
    made.catch(() => this.#made.delete(name));
    return made;
  }
}
