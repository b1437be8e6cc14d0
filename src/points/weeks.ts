/**
 * The instants at which weeks turn (decision 24). A week begins at a local day and time, so weeks over a change of
 * the clocks last an hour less or more. A local time that the clocks skip begins the week as much later as they
 * skip; of a local time that comes twice the first one does.
 */
import { Temporal } from 'temporal-polyfill';
import type { Week } from './policy.ts';

/** The start of the week that the instant lies in, in milliseconds; an instant at which a week turns is in the new one. */
export function weekStartOf(week: Week, instantMs: number): number {
  return startBefore(week, instantMs).startMs;
}

/**
 * Starts of weeks in milliseconds, ascending: the first is the last one at or before `fromMs`, the last the first
 * one after `toMs`, and none is left out between them. `fromMs` is at most `toMs`.
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
  // The first such weekday from the local date on: where clocks go back over midnight, tomorrow has begun before.
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
