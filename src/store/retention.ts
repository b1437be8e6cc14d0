/** How long events are kept (decision 85). */
import { Temporal } from 'temporal-polyfill';
import type { Rules } from './store.ts';

/**
 * The instant before which events are too old; absent: none are. It is the start of a day in UTC,
 * so that events expire once a day, however often an organization publishes.
 */
export function expiryOf({ keptEvents }: Rules, nowMs = Date.now()): number | undefined {
  if (keptEvents === undefined) return undefined;
  const today = Temporal.Instant.fromEpochMilliseconds(nowMs).toZonedDateTimeISO('UTC').startOfDay();
  return today.subtract(keptEvents).epochMilliseconds;
}
