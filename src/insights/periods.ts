/** Consecutive calendar periods in a time zone, without gaps. */
import { AppError } from '../domain/app-error.ts';
import type { Zone } from '../domain/zone.ts';
import { slice } from '../system/time-slice.ts';
import { knownZone } from '../system/zones.ts';

export const INTERVALS = ['hour', 'day', 'week', 'month', 'quarter', 'year'] as const;
/** A week begins on Monday, a quarter in January, April, July or October. */
export type Interval = (typeof INTERVALS)[number];

/** More periods than this cannot be read or drawn. */
const MOST_PERIODS = 10_000;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
/** The first Monday after 1 January 1970, a Thursday. */
const FIRST_MONDAY_MS = 4 * DAY_MS;

const MONTHS = { month: 1, quarter: 3, year: 12 };

export class Periods {
  readonly interval: Interval;
  readonly zone: string;
  readonly #clock: Zone;
  /** The start of each period, ascending. Each period ends where the next one begins. */
  readonly startsMs: number[] = [];
  /** The end of the last period. */
  endMs = Number.NEGATIVE_INFINITY;

  constructor(interval: Interval, zone: string) {
    this.interval = interval;
    this.zone = zone;
    this.#clock = knownZone(zone);
  }

  /**
   * Adds periods up to the one that contains an instant; the first instant determines the first
   * period. Yields to the event loop, because finding the clock changes of a zone is slow. Throws
   * `range-too-fine`.
   */
  async reach(ms: number): Promise<void> {
    if (this.startsMs.length === 0) this.#add(this.#firstStart(ms));
    while (ms >= this.endMs) {
      this.#add(this.endMs);
      if (slice.isOver()) await slice.pass();
    }
  }

  /** The position of the period that contains a reached instant; searches from `from` on. */
  placeOf(ms: number, from: number): number {
    let place = Math.max(from, 0);
    while (ms >= this.endOf(place)) place += 1;
    return place;
  }

  /** The end of the period at a position. */
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

  /**
   * The start of the period that contains the instant. After clocks have gone back across the start
   * of a day, its local time is in the day before, but it is not.
   */
  #firstStart(ms: number): number {
    const startMs = this.#startOf(ms);
    const endMs = this.#endOf(startMs);
    return endMs <= ms ? endMs : startMs;
  }

  #startOf(ms: number): number {
    const { offsetMs, fromMs } = this.#clock.stretchAt(ms);
    const localMs = localStart(this.interval, ms + offsetMs);
    // An hour does not extend beyond a clock change, because it occurs twice if clocks go back.
    if (this.interval === 'hour') return Math.max(localMs - offsetMs, fromMs);
    return this.#clock.instantOf(localMs);
  }

  #endOf(startMs: number): number {
    const { offsetMs, toMs } = this.#clock.stretchAt(startMs);
    // The clocks may have skipped the nominal start, but by less than the length of the period.
    const localMs = localStart(this.interval, startMs + offsetMs);
    const endMs = localEnd(this.interval, localMs);
    if (this.interval === 'hour') return Math.min(endMs - offsetMs, toMs);
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
    default: {
      const date = new Date(localMs);
      return startOfMonth(date, -(date.getUTCMonth() % MONTHS[interval]));
    }
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
    default:
      return startOfMonth(new Date(localMs), MONTHS[interval]);
  }
}

/** The start of the month of the date, or of the month `later` months after it. */
function startOfMonth(date: Date, later: number): number {
  // Not `Date.UTC`, which adds 1900 to years before 100.
  const start = new Date(0);
  start.setUTCFullYear(date.getUTCFullYear(), date.getUTCMonth() + later, 1);
  return start.getTime();
}
