/**
 * The clock of a time zone by the rules of the server. Those of the browser may be of another year:
 * then its days would not be those that the server counts.
 */
import type { ZoneOffsets } from '../../../src/client/schema-insights.ts';

/** Local times are milliseconds that a clock in UTC would have to show. */
export class Clock {
  readonly #spans: readonly Readonly<{ fromMs: number; toMs: number; offsetMs: number }>[];

  constructor(offsets: ZoneOffsets['offsets']) {
    const beginsMs = offsets.map(({ start }) =>
      start === null ? Number.NEGATIVE_INFINITY : Date.parse(start),
    );
    this.#spans = offsets.map(({ seconds }, at) => ({
      fromMs: beginsMs[at] ?? 0,
      toMs: beginsMs[at + 1] ?? Number.POSITIVE_INFINITY,
      offsetMs: seconds * 1000,
    }));
  }

  localOf(ms: number): number {
    return ms + (this.#spans.find(({ toMs }) => ms < toMs)?.offsetMs ?? 0);
  }

  /** The first instant at which the clock shows `localMs`, or a later time if it skips that one. */
  instantOf(localMs: number): number {
    for (const { fromMs, toMs, offsetMs } of this.#spans) {
      const ms = Math.max(localMs - offsetMs, fromMs);
      if (ms < toMs) return ms;
    }
    return localMs;
  }
}

export const UTC = new Clock([{ start: null, seconds: 0 }]);
