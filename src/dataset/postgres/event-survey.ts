/** What is known of staged events without asking the database, which would have to read all of them again. */

/** Years that get a partition of their own; what lies before and after has one each. */
export const FIRST_YEAR = 2000;
export const LAST_YEAR = 2100;
const FIRST_MS = startOfYear(FIRST_YEAR);
const END_MS = startOfYear(LAST_YEAR + 1);

export class EventSurvey {
  /** The numbers of the first and the last one among all records; 1 and 0 when there is none. */
  firstNumber = 1;
  lastNumber = 0;
  /** Years of UTC between 2000 and 2100 that events fall into. */
  readonly years = new Set<number>();
  /** Whether there is an event before or after those years. */
  hasOtherYears = false;
  /** Whether there is an event without an id, and one with an id. */
  hasAnonymous = false;
  hasIds = false;
  /** Whether an id is not larger than the one before it: only then can an id come twice. */
  idsGoBack = false;
  #lastHigh = 0;
  #lastLow = 0;
  /** The year that was seen last, as `[from, to)` in milliseconds. */
  #fromMs = 0;
  #toMs = 0;

  addAnonymous(): void {
    this.hasAnonymous = true;
  }

  /** An id by its halves, each a signed number of 32 bits. */
  addId(high: number, low: number): void {
    const isLarger = high > this.#lastHigh || (high === this.#lastHigh && low >>> 0 > this.#lastLow >>> 0);
    if (this.hasIds && !isLarger) this.idsGoBack = true;
    this.hasIds = true;
    this.#lastHigh = high;
    this.#lastLow = low;
  }

  addTime(timestampMs: number): void {
    if (timestampMs < this.#fromMs || timestampMs >= this.#toMs) this.#enter(timestampMs);
  }

  #enter(timestampMs: number): void {
    if (timestampMs < FIRST_MS || timestampMs >= END_MS) {
      this.hasOtherYears = true;
      return;
    }
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
