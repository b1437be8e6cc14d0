/**
 * Requests that have ended and are not counted yet. Counting one by one, with all its labels, costs as much as
 * answering from memory; counting many at once costs a fraction.
 */

/** Requests with the same labels. */
export interface Tally {
  readonly route: string;
  readonly method: string;
  readonly status: number;
  /** Of each, in the order in which they ended. */
  readonly durationsS: number[];
  /** Of all answers together, header included. */
  bytes: number;
}

/** So many are counted together even when nobody asks for the figures, which bounds the memory. */
const MOST_WAITING = 1_000;

export class Tallies {
  readonly #tallies = new Map<string, Tally>();
  readonly #count: (tally: Tally) => void;
  #waiting = 0;

  constructor(count: (tally: Tally) => void) {
    this.#count = count;
  }

  add(route: string, method: string, status: number, durationS: number, bytes: number): void {
    const labels = `${status} ${method} ${route}`;
    let tally = this.#tallies.get(labels);
    if (tally === undefined) {
      tally = { route, method, status, durationsS: [], bytes: 0 };
      this.#tallies.set(labels, tally);
    }
    tally.durationsS.push(durationS);
    tally.bytes += bytes;
    this.#waiting += 1;
    if (this.#waiting === MOST_WAITING) this.countAll();
  }

  /** To be called before the figures are read. */
  countAll(): void {
    for (const tally of this.#tallies.values()) {
      if (tally.durationsS.length > 0) this.#count(tally);
      tally.durationsS.length = 0;
      tally.bytes = 0;
    }
    this.#waiting = 0;
  }
}
