/**
 * The instants at which weeks start (decision 24). A week starts at a local day and time, so weeks
 * with a clock change are an hour shorter or longer. If the clocks skip the local start time, the
 * week starts later by the length of the skip. If the local time occurs twice, the first occurrence
 * counts.
 */
import type { Zone } from '../domain/zone.ts';
import { knownZone } from '../system/zones.ts';
import type { Week } from './policy.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;
const WEEK_MS = 7 * DAY_MS;
/** 1 January 1970 was a Thursday. */
const FIRST_WEEKDAY = 4;

/**
 * Start of the week that contains the instant, in milliseconds. The start itself belongs to the new
 * week.
 */
export function weekStartOf(week: Week, instantMs: number): number {
  return startBefore(knownZone(week.zone), week, instantMs).startMs;
}

/**
 * All starts of weeks in milliseconds, ascending, from the last one at or before `fromMs` to the
 * first one after `toMs`. `fromMs` must not be later than `toMs`.
 */
export function weekBoundaries(
  week: Week,
  range: { readonly fromMs: number; readonly toMs: number },
): Float64Array {
  const zone = knownZone(week.zone);
  let { localMs, startMs } = startBefore(zone, week, range.fromMs);
  const boundaries = [startMs];
  while (startMs <= range.toMs) {
    localMs += WEEK_MS;
    startMs = zone.shiftedInstantOf(localMs);
    boundaries.push(startMs);
  }
  return Float64Array.from(boundaries);
}

/** The last start of a week at or before the instant, as local time and as an instant. */
function startBefore(zone: Zone, { day, minuteOfDay }: Week, instantMs: number) {
  const days = Math.floor(zone.localOf(instantMs) / DAY_MS);
  // From 0 for Monday to 6.
  const weekday = (((days + FIRST_WEEKDAY - 1) % 7) + 7) % 7;
  // The next such weekday, counted from the local date. It can be in the past even if it is
  // tomorrow: where clocks go back over midnight, tomorrow has begun once before.
  const daysAhead = (day - 1 - weekday + 7) % 7;
  let localMs = (days + daysAhead) * DAY_MS + minuteOfDay * MINUTE_MS;
  let startMs = zone.shiftedInstantOf(localMs);
  while (startMs > instantMs) {
    localMs -= WEEK_MS;
    startMs = zone.shiftedInstantOf(localMs);
  }
  return { localMs, startMs };
}
