/** Calendar days, written as `2018-03-31`, and the instants at which they begin in a time zone. */
import type { Clock } from './clock.ts';

const DAY_MS = 86_400_000;

export function isDay(text: string | null): text is string {
  return text !== null && /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));
}

export function isZone(text: string | null): text is string {
  if (text === null || !/^[A-Za-z]/.test(text)) return false;
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: text }));
  } catch {
    return false;
  }
}

/** The day that contains an instant. */
export function dayOf(ms: number, clock: Clock): string {
  return new Date(clock.localOf(ms)).toISOString().slice(0, 10);
}

export function addDays(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
}

/** Number of days from the first to the last, both included. */
export function countDays(first: string, last: string): number {
  return Math.round((Date.parse(last) - Date.parse(first)) / DAY_MS) + 1;
}

/** The first instant of a day; if clocks skip midnight, the instant after the gap. */
export function startOfDay(day: string, clock: Clock): number {
  return clock.instantOf(Date.parse(day));
}
