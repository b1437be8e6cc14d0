/** Activity by hour of the week. */
import { Clock } from './clock.ts';

const HOUR_MS = 3_600_000;
const HOURS_OF_DAY = 24;
const HOURS_OF_WEEK = 7 * HOURS_OF_DAY;
/** 1 January 1970 was a Thursday. */
const FIRST_HOUR = 3 * HOURS_OF_DAY;

/** Counts by hour of the week in local time; the first hour is Monday, 0 to 1 o'clock. */
export class HeatMap {
  readonly #clock: Clock;
  readonly counts = new Float64Array(HOURS_OF_WEEK);
  #fromMs = Number.NaN;
  #toMs = Number.NaN;
  #hour = 0;

  constructor(zone: string) {
    this.#clock = new Clock(zone);
  }

  add(ms: number): void {
    if (!(ms >= this.#fromMs && ms < this.#toMs)) this.#enter(ms);
    this.counts[this.#hour]! += 1;
  }

  #enter(ms: number): void {
    const { fromMs, toMs, offsetMs } = this.#clock.stretchAt(ms);
    const hours = Math.floor((ms + offsetMs) / HOUR_MS);
    this.#hour = (((hours + FIRST_HOUR) % HOURS_OF_WEEK) + HOURS_OF_WEEK) % HOURS_OF_WEEK;
    this.#fromMs = Math.max(hours * HOUR_MS - offsetMs, fromMs);
    this.#toMs = Math.min((hours + 1) * HOUR_MS - offsetMs, toMs);
  }
}
