/** Calendar days in a time zone, written as `2018-03-31`, and the instants at which they begin. */

/** Step of the search in `startOfDay`: the offsets of some zones are not whole hours. */
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

const clocks = new Map<string, Intl.DateTimeFormat>();

function clockOf(zone: string): Intl.DateTimeFormat {
  let clock = clocks.get(zone);
  if (clock === undefined) {
    clock = new Intl.DateTimeFormat('en-CA', {
      ...{ timeZone: zone, hourCycle: 'h23', era: 'short' },
      ...{ year: 'numeric', month: '2-digit', day: '2-digit' },
      ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
    });
    clocks.set(zone, clock);
  }
  return clock;
}

/** The local time of a zone at an instant, in milliseconds as if it were UTC. */
function localMs(ms: number, zone: string): number {
  const parts = new Map(
    clockOf(zone)
      .formatToParts(ms)
      .map(({ type, value }) => [type, value]),
  );
  const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.get(type));
  return Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
}

export function isDay(text: string | null): text is string {
  return text !== null && /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));
}

export function isZone(text: string | null): text is string {
  if (text === null || !/^[A-Za-z]/.test(text)) return false;
  try {
    clockOf(text);
    return true;
  } catch {
    return false;
  }
}

/** The day that contains an instant. */
export function dayOf(ms: number, zone: string): string {
  return new Date(localMs(ms, zone)).toISOString().slice(0, 10);
}

export function addDays(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
}

/** Number of days from the first to the last, both included. */
export function countDays(first: string, last: string): number {
  return Math.round((Date.parse(last) - Date.parse(first)) / DAY_MS) + 1;
}

/** The first instant of a day; if clocks skip midnight, the instant after the gap. */
export function startOfDay(day: string, zone: string): number {
  const wanted = Date.parse(day);
  const offsets = [-DAY_MS, 0, DAY_MS].map((away) => localMs(wanted + away, zone) - (wanted + away));
  const candidates = [...new Set(offsets)].map((offset) => wanted - offset).sort((one, other) => one - other);
  const exact = candidates.find((ms) => localMs(ms, zone) === wanted);
  if (exact !== undefined) return exact;
  // Clocks were set forward over midnight: find the first minute that belongs to the day.
  let ms = candidates[0] ?? wanted;
  while (localMs(ms, zone) < wanted) ms += MINUTE_MS;
  return ms;
}
