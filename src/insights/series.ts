/**
 * Counts of events by group and period. With many groups and periods most counts are 0, so only
 * positive counts are kept until all periods are known.
 */
import { AppError } from '../domain/app-error.ts';
import { inSlices } from '../system/time-slice.ts';

/** Counts in all series of a response: 10,000 periods of 50 series, or 500 periods of 1,000. */
const MOST_FIGURES = 500_000;

export class SeriesCounts {
  /** Counts of the current period, by group. */
  readonly #now: Int32Array;
  readonly #met: number[] = [];
  /** The counts above 0, period by period. */
  readonly #periods: number[] = [];
  readonly #groups: number[] = [];
  readonly #counts: number[] = [];
  /** By group: its number of events in the periods that have ended. */
  readonly totals: Float64Array;
  #shown = 0;

  constructor(groups: number) {
    this.#now = new Int32Array(groups);
    this.totals = new Float64Array(groups);
  }

  /** Counts an event of the current period. */
  add(group: number): void {
    if (this.#now[group] === 0) this.#met.push(group);
    this.#now[group]! += 1;
  }

  /** Ends the current period; -1 if there is none. */
  leave(period: number): void {
    for (const group of this.#met) {
      const count = this.#now[group]!;
      if (this.totals[group] === 0) this.#shown += 1;
      this.totals[group]! += count;
      this.#periods.push(period);
      this.#groups.push(group);
      this.#counts.push(count);
      this.#now[group] = 0;
    }
    this.#met.length = 0;
  }

  /** Throws `range-too-fine` if the groups with events have too many counts in these periods. */
  refuseTooMany(periods: number): void {
    if (this.#shown * periods <= MOST_FIGURES) return;
    throw new AppError(
      'range-too-fine',
      `The response would have more than ${MOST_FIGURES.toLocaleString('en')} figures, one for each period and series. ` +
        'Ask for a shorter range, for a longer interval, or for fewer boards with "top".',
    );
  }

  /** By group: its number of events in each period; undefined if it has none. */
  async inPeriods(periods: number): Promise<readonly (Int32Array | undefined)[]> {
    const series = Array.from(this.totals, (total) => (total > 0 ? new Int32Array(periods) : undefined));
    await inSlices(0, this.#counts.length, (from, to) => {
      for (let at = from; at < to; at++) series[this.#groups[at]!]![this.#periods[at]!] = this.#counts[at]!;
    });
    return series;
  }
}
