/**
 * Counts of events by group and period. With many groups and periods most counts are 0, so only
 * positive counts are kept until all periods are known.
 */
import { AppError } from '../domain/app-error.ts';
import { inSlices } from '../system/time-slice.ts';

/** Counts in all series of a response: 10,000 periods of 50 series, or 500 periods of 1,000. */
const MOST_FIGURES = 500_000;

/** Counts of a group in a period; each position is one count. */
export interface GroupCounts {
  readonly periods: Int32Array;
  readonly groups: Int32Array;
  readonly counts: Int32Array;
}

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
      this.#keep(period, group, this.#now[group]!);
      this.#now[group] = 0;
    }
    this.#met.length = 0;
  }

  /** The counts above 0 of the periods that have ended. */
  get counts(): GroupCounts {
    return {
      periods: Int32Array.from(this.#periods),
      groups: Int32Array.from(this.#groups),
      counts: Int32Array.from(this.#counts),
    };
  }

  /** Adds counts whose period 0 is the period at `from`. */
  async addAll({ periods, groups, counts }: GroupCounts, from: number): Promise<void> {
    await inSlices(0, counts.length, (first, end) => {
      for (let at = first; at < end; at++) this.#keep(from + periods[at]!, groups[at]!, counts[at]!);
    });
  }

  /** Takes back one of the counts of a period. */
  takeBack(period: number, group: number): void {
    this.#keep(period, group, -1);
  }

  #keep(period: number, group: number, count: number): void {
    if (this.totals[group] === 0) this.#shown += 1;
    this.totals[group]! += count;
    this.#periods.push(period);
    this.#groups.push(group);
    this.#counts.push(count);
  }

  /**
   * Throws `range-too-fine` if the groups have too many counts in these periods; by default, those
   * with events.
   */
  refuseTooMany(periods: number, groups = this.#shown): void {
    if (groups * periods <= MOST_FIGURES) return;
    throw new AppError(
      'range-too-fine',
      `The response would have more than ${MOST_FIGURES.toLocaleString('en')} figures, one for each period and series. ` +
        'Ask for a shorter range, for a longer interval, or for fewer series with "top".',
    );
  }

  /** By group: its number of events in each period; undefined if it has none. */
  async inPeriods(periods: number): Promise<readonly (Int32Array | undefined)[]> {
    const series = Array.from(this.totals, (total) => (total > 0 ? new Int32Array(periods) : undefined));
    await inSlices(0, this.#counts.length, (from, to) => {
      for (let at = from; at < to; at++) series[this.#groups[at]!]![this.#periods[at]!]! += this.#counts[at]!;
    });
    return series;
  }
}
