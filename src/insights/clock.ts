/**
 * Local time of a zone, fast for many instants that are close together: between two clock changes
 * it is simple arithmetic.
 */
import { Temporal } from 'temporal-polyfill';

const DAY_MS = 86_400_000;

/** Instants `[fromMs, toMs)` with the same offset from UTC. */
interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
  readonly offsetMs: number;
}

export class Clock {
  readonly #zone: string;
  #last: Stretch = { fromMs: Number.NaN, toMs: Number.NaN, offsetMs: 0 };

  /** Name of an IANA time zone. */
  constructor(zone: string) {
    this.#zone = zone;
  }

  /**
   * The span around an instant with its offset. Instant plus offset is local time, in which days
   * begin at multiples of 24 hours.
   */
  stretchAt(ms: number): Stretch {
    if (!(ms >= this.#last.fromMs && ms < this.#last.toMs)) this.#last = this.#find(ms);
    return this.#last;
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

  #find(ms: number): Stretch {
    const at = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(this.#zone);
    // 'previous' excludes a change at the instant itself, so the search starts one millisecond
    // later.
    const before = at.add({ milliseconds: 1 }).getTimeZoneTransition('previous');
    const after = at.getTimeZoneTransition('next');
    return {
      fromMs: before?.epochMilliseconds ?? Number.NEGATIVE_INFINITY,
      toMs: after?.epochMilliseconds ?? Number.POSITIVE_INFINITY,
      offsetMs: at.offsetNanoseconds / 1e6,
    };
  }
}
