/**
 * Instants are milliseconds since 1970-01-01T00:00:00Z, in a `number`, between the years 1 and 9999, because the
 * contract's form of a timestamp has four digits for the year.
 */
export const EARLIEST_INSTANT_MS = Date.UTC(2000, 0, 1) - 730_119 * 86_400_000;
export const LATEST_INSTANT_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Below this magnitude a bare integer is taken for seconds, from it on for milliseconds (decision 5). */
const SECONDS_BELOW = 100_000_000_000;

const DATE_TIME =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?:([Zz])|([+-])(\d{2}):?(\d{2}))$/;

/**
 * Reads Unix milliseconds, Unix seconds, or an ISO 8601 date-time with an offset (decision 5). Digits finer than
 * the millisecond are dropped. Absent when the text is none of these, names no day of the calendar, or lies
 * outside the years 1 to 9999.
 */
export function parseInstant(text: string): number | undefined {
  const value = /^-?\d{1,15}$/.test(text) ? parseUnixTime(text) : parseDateTime(text);
  if (value === undefined || value < EARLIEST_INSTANT_MS || value > LATEST_INSTANT_MS) return undefined;
  return value;
}

function parseUnixTime(text: string): number {
  const value = Number(text);
  return Math.abs(value) < SECONDS_BELOW ? value * 1000 : value;
}

function parseDateTime(text: string): number | undefined {
  const match = DATE_TIME.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second = '0', fraction = '', , sign, offsetHour, offsetMinute] =
    match;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (Number(offsetHour ?? 0) > 23 || Number(offsetMinute ?? 0) > 59) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (date.getUTCDate() !== Number(day) || date.getUTCMonth() !== Number(month) - 1) return undefined;
  const milliseconds = Number(fraction.slice(0, 3).padEnd(3, '0'));
  const local =
    date.getTime() + ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1000 + milliseconds;
  const offsetMinutes = Number(offsetHour ?? 0) * 60 + Number(offsetMinute ?? 0);
  return sign === '-' ? local + offsetMinutes * 60_000 : local - offsetMinutes * 60_000;
}

/** The contract's form, always in UTC: `2018-03-12T17:00:45.567+00:00`. */
export function formatInstant(instantMs: number): string {
  return new Date(instantMs).toISOString().replace('Z', '+00:00');
}
