/**
 * Instants are milliseconds since 1970-01-01T00:00:00Z as a `number`, within the years 1 to 9999,
 * because timestamps in the contract have four digits for the year.
 */
export const EARLIEST_INSTANT_MS = Date.UTC(2000, 0, 1) - 730_119 * 86_400_000;
export const LATEST_INSTANT_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Bare numbers below this magnitude are read as seconds, others as milliseconds (decision 5). */
const SECONDS_BELOW = 100_000_000_000;

const UNIX_TIME = /^(-?)(\d{1,15})(?:\.(\d{1,9}))?$/;

/** PostgreSQL, DuckDB and pandas omit the minutes of an offset, or add seconds to it. */
const DATE_TIME =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?:[Zz]|([+-])(\d{2})(?::?(\d{2})(?::?(\d{2}))?)?)$/;

/**
 * Reads Unix milliseconds, Unix seconds, or an ISO 8601 date-time with an offset (decision 5); a
 * space may replace the `T`, and the offset may have hours only (`+02`) or seconds (`+00:19:32`).
 * Digits finer than a millisecond are dropped. Returns undefined if the text is none of these,
 * names a day that does not exist, or lies outside the years 1 to 9999.
 */
export function parseInstant(text: string): number | undefined {
  const dateTimeMs = parseDateTime(text);
  return dateTimeMs ?? withinYears(parseUnixTime(text));
}

/**
 * Reads an ISO 8601 date-time with an offset, as every timestamp of the contract is. Otherwise like
 * `parseInstant`.
 */
export function parseDateTime(text: string): number | undefined {
  // Fast path for the most common form. If the text has more bytes than characters, it is not ASCII
  // and not an instant.
  const plain = PLAIN_LENGTHS.includes(text.length) && SCRATCH.write(text) === text.length;
  const plainMs = plain ? readPlainInstant(SCRATCH, 0, text.length) : undefined;
  return plainMs ?? withinYears(parseAnyDateTime(text));
}

function withinYears(value: number | undefined): number | undefined {
  if (value === undefined || value < EARLIEST_INSTANT_MS || value > LATEST_INSTANT_MS) return undefined;
  return value;
}

function parseUnixTime(text: string): number | undefined {
  const match = UNIX_TIME.exec(text);
  if (match === null) return undefined;
  const [, sign, digits, fraction = ''] = match;
  const whole = Number(digits);
  const magnitude = whole < SECONDS_BELOW ? whole * 1000 + millisecondsOf(fraction) : whole;
  return sign === '-' ? 0 - magnitude : magnitude;
}

/** Of a fraction of a second. */
function millisecondsOf(fraction: string): number {
  return Number(fraction.slice(0, 3).padEnd(3, '0'));
}

function parseAnyDateTime(text: string): number | undefined {
  const match = DATE_TIME.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second = '0', fraction = '', sign, ...offset] = match;
  const [offsetHour, offsetMinute, offsetSecond] = offset.map((part = '0') => Number(part));
  const offsetMs = timeOf(offsetHour, offsetMinute, offsetSecond);
  const timeMs = timeOf(Number(hour), Number(minute), Number(second));
  if (offsetMs === undefined || timeMs === undefined) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (date.getUTCDate() !== Number(day) || date.getUTCMonth() !== Number(month) - 1) return undefined;
  const localMs = date.getTime() + timeMs + millisecondsOf(fraction);
  return sign === '-' ? localMs + offsetMs : localMs - offsetMs;
}

/** Milliseconds; undefined if a clock cannot show this time. */
function timeOf(hour = 0, minute = 0, second = 0): number | undefined {
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  return ((hour * 60 + minute) * 60 + second) * 1000;
}

/** `2018-03-12T17:00:45.567`, followed by `Z` or `+00:00`. */
const PLAIN_PATTERN = Buffer.from('0000-00-00T00:00:00.000');
const PLAIN_SUFFIXES = ['+00:00', 'Z'].map((suffix) => Buffer.from(suffix));
const PLAIN_LENGTHS = PLAIN_SUFFIXES.map(({ length }) => PLAIN_PATTERN.length + length);
const SCRATCH = Buffer.alloc(Math.max(...PLAIN_LENGTHS));
const ZERO = 48;

/**
 * Reads the contract's form of an instant in UTC, with `+00:00` or `Z`, from bytes: the fast path
 * of `parseDateTime`. Returns undefined for any other form too.
 */
export function readPlainInstant(bytes: Uint8Array, from: number, to: number): number | undefined {
  const suffix = PLAIN_SUFFIXES[PLAIN_LENGTHS.indexOf(to - from)];
  if (suffix === undefined || !isAt(suffix, bytes, from + PLAIN_PATTERN.length)) return undefined;
  for (let at = 0; at < PLAIN_PATTERN.length; at += 1) {
    const byte = bytes[from + at] ?? 0;
    const model = PLAIN_PATTERN[at] ?? 0;
    if (model === ZERO ? byte < ZERO || byte > ZERO + 9 : byte !== model) return undefined;
  }
  const year = twoDigits(bytes, from) * 100 + twoDigits(bytes, from + 2);
  const month = twoDigits(bytes, from + 5);
  const day = twoDigits(bytes, from + 8);
  const hour = twoDigits(bytes, from + 11);
  const minute = twoDigits(bytes, from + 14);
  const second = twoDigits(bytes, from + 17);
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > daysOf(year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const milliseconds = twoDigits(bytes, from + 20) * 10 + (bytes[from + 22] ?? 0) - ZERO;
  return ((dayOf(year, month, day) * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + milliseconds;
}

function isAt(expected: Uint8Array, bytes: Uint8Array, from: number): boolean {
  for (let at = 0; at < expected.length; at += 1) if (bytes[from + at] !== expected[at]) return false;
  return true;
}

function twoDigits(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) - ZERO) * 10 + (bytes[at + 1] ?? 0) - ZERO;
}

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function daysOf(year: number, month: number): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 && isLeap ? 29 : (DAYS[month - 1] ?? 0);
}

/**
 * Days since 1970-01-01. Years are counted from March, so that a leap day is the last day of its
 * year.
 */
function dayOf(year: number, month: number, day: number): number {
  const marchYear = month > 2 ? year : year - 1;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const leapDays = Math.floor(marchYear / 4) - Math.floor(marchYear / 100) + Math.floor(marchYear / 400);
  return marchYear * 365 + leapDays + dayOfYear - 719_468;
}

/** Formats an instant in the contract's form, always in UTC: `2018-03-12T17:00:45.567+00:00`. */
export function formatInstant(instantMs: number): string {
  return new Date(instantMs).toISOString().replace('Z', '+00:00');
}
