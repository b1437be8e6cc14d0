/**
 * Local time of a time zone, fast for many instants that are close together: between two clock
 * changes it is simple arithmetic. Local times are milliseconds that a clock in UTC would have to
 * show; days begin at multiples of 24 hours.
 */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Instants `[fromMs, toMs)` with the same offset from UTC; the stretches around it have others. */
export interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
  readonly offsetMs: number;
}

/** Offsets from UTC, ascending: each with the instant from which it holds. All in milliseconds. */
export type Offsets = readonly (readonly [fromMs: number, offsetMs: number])[];

/** Finds the stretch around an instant, in Unix milliseconds. */
export type FindStretch = (ms: number) => Stretch;

/** The rules of all time zones, as of one version of the time zone database. */
export interface ZoneRules {
  /** Such as `2026c`; `unknown` if the rules do not tell. */
  readonly version: string;
  /** Ignores case. Undefined: there is no such zone. */
  readonly find: (name: string) => FindStretch | undefined;
}

export class Zone {
  readonly #find: FindStretch;
  #last: Stretch = { fromMs: Number.NaN, toMs: Number.NaN, offsetMs: 0 };

  constructor(find: FindStretch) {
    this.#find = find;
  }

  /** The span around an instant with its offset. Instant plus offset is local time. */
  stretchAt(ms: number): Stretch {
    if (!(ms >= this.#last.fromMs && ms < this.#last.toMs)) this.#last = this.#find(ms);
    return this.#last;
  }

  localOf(ms: number): number {
    return ms + this.stretchAt(ms).offsetMs;
  }

  /** The first instant at which the clocks show `localMs`, or a later time if they skip it. */
  instantOf(localMs: number): number {
    // Offsets are less than a day, so this instant is before the result.
    let stretch = this.stretchAt(localMs - DAY_MS);
    for (;;) {
      const ms = Math.max(localMs - stretch.offsetMs, stretch.fromMs);
      if (ms < stretch.toMs) return ms;
      stretch = this.stretchAt(stretch.toMs);
    }
  }

  /** Likewise, but if the clocks skip `localMs`, the result is later by the length of the skip. */
  shiftedInstantOf(localMs: number): number {
    const ms = this.instantOf(localMs);
    const { fromMs, offsetMs } = this.stretchAt(ms);
    return ms + offsetMs === localMs ? ms : localMs - this.stretchAt(fromMs - 1).offsetMs;
  }

  /** The offsets from one instant to another, both included; the first one holds from `fromMs`. */
  offsetsBetween(fromMs: number, toMs: number): Offsets {
    const offsets: [number, number][] = [];
    for (let ms = fromMs; ms <= toMs; ms = this.stretchAt(ms).toMs)
      offsets.push([ms, this.stretchAt(ms).offsetMs]);
    return offsets;
  }

  /** The local time with its offset, to the minute: `2026-11-16T00:30-06:00`. */
  render(ms: number): string {
    const { offsetMs } = this.stretchAt(ms);
    const local = new Date(ms + offsetMs).toISOString().replace(/:\d\d\.\d{3}Z$/, '');
    const minutes = Math.round(Math.abs(offsetMs) / MINUTE_MS);
    const two = (value: number) => String(value).padStart(2, '0');
    return `${local}${offsetMs < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
  }
}

/** The first instant at which the offsets of two rules differ; undefined if they are the same. */
export function firstDifference(one: Offsets, other: Offsets): number | undefined {
  const longer = one.length > other.length ? one : other;
  const at = longer.findIndex((_, place) => String(one[place]) !== String(other[place]));
  return at === -1 ? undefined : Math.min(...[one, other].flatMap((offsets) => offsets[at]?.[0] ?? []));
}
