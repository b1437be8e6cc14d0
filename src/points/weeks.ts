/**
 * The instants at which weeks start (decision 24). A week starts at a local day and time, so weeks
 * with a clock change are an hour shorter or longer. If the clocks skip the local start time, the
 * week starts later by the length of the skip. If the local time occurs twice, the first occurrence
 * counts.
 */
import { Temporal } from 'temporal-polyfill';
import type { Week } from './policy.ts';

/**
 * Start of the week that contains the instant, in milliseconds. The start itself belongs to the new
 * week.
 */
export function weekStartOf(week: Week, instantMs: number): number {
  return startBefore(week, instantMs).startMs;
}

/**
 * All starts of weeks in milliseconds, ascending, from the last one at or before `fromMs` to the
 * first one after `toMs`. `fromMs` must not be later than `toMs`.
 */
export function weekBoundaries(
  week: Week,
  range: { readonly fromMs: number; readonly toMs: number },
): Float64Array {
  let { local, startMs } = startBefore(week, range.fromMs);
  const boundaries = [startMs];
  while (startMs <= range.toMs) {
    local = local.add({ days: 7 });
    startMs = instantOf(week, local);
    boundaries.push(startMs);
  }
  return Float64Array.from(boundaries);
}

/** The last start of a week at or before the instant, as local time and in milliseconds. */
function startBefore(week: Week, instantMs: number): { local: Temporal.PlainDateTime; startMs: number } {
  const date = Temporal.Instant.fromEpochMilliseconds(instantMs)
    .toZonedDateTimeISO(week.zone)
    .toPlainDateTime();
  const midnight = date.with({
    hour: 0,
    minute: 0,
    second: 0,
    millisecond: 0,
    microsecond: 0,
    nanosecond: 0,
  });
  // The next such weekday, counted from the local date. It can be in the past even if it is
  // tomorrow: where clocks go back over midnight, tomorrow has begun once before.
  const daysAhead = (week.day - date.dayOfWeek + 7) % 7;
  let local = midnight.add({ days: daysAhead, minutes: week.minuteOfDay });
  let startMs = instantOf(week, local);
  while (startMs > instantMs) {
    local = local.subtract({ days: 7 });
    startMs = instantOf(week, local);
  }
  return { local, startMs };
}

function instantOf(week: Week, local: Temporal.PlainDateTime): number {
  return local.toZonedDateTime(week.zone, { disambiguation: 'compatible' }).epochMilliseconds;
}
