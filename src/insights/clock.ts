/** Local time of a zone, for many instants that lie close together: what the clocks show is arithmetic between changes. */
import { Temporal } from 'temporal-polyfill';

const DAY_MS = 86_400_000;

/** Instants `[fromMs, toMs)` in which the clocks differ from UTC by the same. */
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

  /** What is added to an instant to get local time, in which a day begins at a multiple of 24 hours. */
  stretchAt(ms: number): Stretch {
    if (!(ms >= this.#last.fromMs && ms < this.#last.toMs)) this.#last = this.#find(ms);
    return this.#last;
  }

  /** The first instant at which the clocks show `localMs`, or more where they skip it. */
  instantOf(localMs: number): number {
    // No offset is as much as a day, so this lies before it.
    let stretch = this.stretchAt(localMs - DAY_MS);
    for (;;) {
      const ms = Math.max(localMs - stretch.offsetMs, stretch.fromMs);
      if (ms < stretch.toMs) return ms;
      stretch = this.stretchAt(stretch.toMs);
    }
  }

  #find(ms: number): Stretch {
    const at = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(this.#zone);
    // The previous change is one before the instant, so one at the very instant is looked for from the next on.
    const before = at.add({ milliseconds: 1 }).getTimeZoneTransition('previous');
    const after = at.getTimeZoneTransition('next');
    return {
      fromMs: before?.epochMilliseconds ?? Number.NEGATIVE_INFINITY,
      toMs: after?.epochMilliseconds ?? Number.POSITIVE_INFINITY,
      offsetMs: at.offsetNanoseconds / 1e6,
    };
  }
}
