/** Selects the first few of many values in an order, without sorting all of them. */

/** The most elements of a ranking, or series of their own, that a request can ask for. */
export const MOST_TOP = 1_000;

export interface RankedThing {
  readonly rank: number;
  readonly place: number;
}

/**
 * Keeps the highest ranks, and the lower places of equal ranks, in a heap whose root is the last of
 * them in the order.
 */
export class Top {
  readonly #most: number;
  readonly #ranks: number[] = [];
  readonly #places: number[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  offer(rank: number, place: number): void {
    if (this.#ranks.length < this.#most) this.#rise(rank, place);
    else if (this.#comesBeforeThatAt(0, rank, place)) this.#sink(rank, place);
  }

  /** The kept values, highest rank first. */
  ranked(): RankedThing[] {
    return this.#ranks
      .map((rank, at) => ({ rank, place: this.#places[at]! }))
      .sort((one, other) => other.rank - one.rank || one.place - other.place);
  }

  #comesBeforeThatAt(at: number, rank: number, place: number): boolean {
    const other = this.#ranks[at];
    return other !== undefined && (rank > other || (rank === other && place < this.#places[at]!));
  }

  #rise(rank: number, place: number): void {
    let at = this.#ranks.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#comesBeforeThatAt(parent, rank, place)) break;
      this.#set(at, this.#ranks[parent]!, this.#places[parent]!);
      at = parent;
    }
    this.#set(at, rank, place);
  }

  /** Replaces the root. */
  #sink(rank: number, place: number): void {
    const size = this.#ranks.length;
    let at = 0;
    for (let child = 1; child < size; child = 2 * at + 1) {
      const [childRank, childPlace] = [this.#ranks[child]!, this.#places[child]!];
      const isRight = child + 1 < size && this.#comesBeforeThatAt(child + 1, childRank, childPlace);
      const later = isRight ? child + 1 : child;
      if (!this.#comesBeforeThatAt(later, rank, place)) break;
      this.#set(at, this.#ranks[later]!, this.#places[later]!);
      at = later;
    }
    this.#set(at, rank, place);
  }

  #set(at: number, rank: number, place: number): void {
    this.#ranks[at] = rank;
    this.#places[at] = place;
  }
}
