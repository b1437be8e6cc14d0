/** Time in periods of the calendar of a zone, one after the other without a gap. */
import { AppError } from '../domain/app-error.ts';
import { slice } from '../system/time-slice.ts';
import { Clock } from './clock.ts';

export const INTERVALS = ['hour', 'day', 'week', 'month'] as const;
/** A week begins on Monday. */
export type Interval = (typeof INTERVALS)[number];

/** More would be neither looked at nor drawn. */
const MOST_PERIODS = 10_000;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
/** The first Monday after 1 January 1970, a Thursday. */
const FIRST_MONDAY_MS = 4 * DAY_MS;

export class Periods {
  readonly #interval: Interval;
  readonly #clock: Clock;
  /** Where each period begins, ascending; the next one begins where the last one ends. */
  readonly startsMs: number[] = [];
  /** Where the last one ends. */
  endMs = Number.NEGATIVE_INFINITY;

  constructor(interval: Interval, zone: string) {
    this.#interval = interval;
    this.#clock = new Clock(zone);
  }

  /**
   * Adds periods up to that of an instant; the period of the first instant is the first one. In
   * slices of time, because finding the clock changes of a zone is slow. Throws `range-too-fine`.
   */
  async reach(ms: number): Promise<void> {
    if (this.startsMs.length === 0) this.#add(this.#startOf(ms));
    while (ms >= this.endMs) {
      this.#add(this.endMs);
      if (slice.isOver()) await slice.pass();
    }
  }

  /** The place of the period of an instant that was reached, at `from` or later. */
  placeOf(ms: number, from: number): number {
    let place = Math.max(from, 0);
    while (ms >= this.endOf(place)) place += 1;
    return place;
  }

  /** The end of the period at a place. */
  endOf(place: number): number {
    return this.startsMs[place + 1] ?? this.endMs;
  }

  #add(startMs: number): void {
    if (this.startsMs.length === MOST_PERIODS) {
      throw new AppError(
        'range-too-fine',
        `The range has more than ${MOST_PERIODS.toLocaleString('en')} periods. Ask for a shorter range or a longer interval.`,
      );
    }
    this.startsMs.push(startMs);
    this.endMs = this.#endOf(startMs);
  }

  #startOf(ms: number): number {
    const { offsetMs, fromMs } = this.#clock.stretchAt(ms);
    const localMs = localStart(this.#interval, ms + offsetMs);
    // An hour belongs to its stretch, because it comes twice when clocks go back.
    if (this.#interval === 'hour') return Math.max(localMs - offsetMs, fromMs);
    return this.#clock.instantOf(localMs);
  }

  #endOf(startMs: number): number {
    const { offsetMs, toMs } = this.#clock.stretchAt(startMs);
    // The clocks may have skipped the start proper, never as much as the period is long.
    const localMs = localStart(this.#interval, startMs + offsetMs);
    const endMs = localEnd(this.#interval, localMs);
    if (this.#interval === 'hour') return Math.min(endMs - offsetMs, toMs);
    return this.#clock.instantOf(endMs);
  }
}

function localStart(interval: Interval, localMs: number): number {
  switch (interval) {
    case 'hour':
      return Math.floor(localMs / HOUR_MS) * HOUR_MS;
    case 'day':
      return Math.floor(localMs / DAY_MS) * DAY_MS;
    case 'week':
      return Math.floor((localMs - FIRST_MONDAY_MS) / WEEK_MS) * WEEK_MS + FIRST_MONDAY_MS;
    case 'month':
      return startOfMonth(new Date(localMs), 0);
  }
}

function localEnd(interval: Interval, localMs: number): number {
  switch (interval) {
    case 'hour':
      return localMs + HOUR_MS;
    case 'day':
      return localMs + DAY_MS;
    case 'week':
      return localMs + WEEK_MS;
    case 'month':
      return startOfMonth(new Date(localMs), 1);
  }
}

/** Of the month of the date, or of a later one. */
function startOfMonth(date: Date, later: number): number {
  // Not `Date.UTC`, which takes the years before 100 for those of the last century.
  const start = new Date(0);
  start.setUTCFullYear(date.getUTCFullYear(), date.getUTCMonth() + later, 1);
  return start.getTime();
}
