/** What is known of staged events without asking the database, which would have to read all of them again. */

/** Years that get a partition of their own; what lies outside goes to the default one. */
const FIRST_YEAR = 2000;
const LAST_YEAR = 2100;
const FIRST_MS = startOfYear(FIRST_YEAR);
const END_MS = startOfYear(LAST_YEAR + 1);

export class EventSurvey {
  /** Years of UTC between 2000 and 2100 that events fall into. */
  readonly years = new Set<number>();
  /** Whether there is an event without an id, and one with an id. */
  hasAnonymous = false;
  hasIds = false;
  /** Whether an id is not larger than the one before it: only then can an id come twice. */
  idsGoBack = false;
  #lastId = 0n;
  /** The year that was seen last, as `[from, to)` in milliseconds. */
  #fromMs = 0;
  #toMs = 0;

  add(id: bigint | undefined, timestampMs: number): void {
    if (id === undefined) this.hasAnonymous = true;
    else {
      if (this.hasIds && id <= this.#lastId) this.idsGoBack = true;
      this.hasIds = true;
      this.#lastId = id;
    }
    if (timestampMs < this.#fromMs || timestampMs >= this.#toMs) this.#enter(timestampMs);
  }

  #enter(timestampMs: number): void {
    if (timestampMs < FIRST_MS || timestampMs >= END_MS) return;
    const year = new Date(timestampMs).getUTCFullYear();
    this.#fromMs = startOfYear(year);
    this.#toMs = startOfYear(year + 1);
    this.years.add(year);
  }
}

/** In milliseconds since 1970; of a year from 100 on. */
export function startOfYear(year: number): number {
  return Date.UTC(year, 0, 1);
}
