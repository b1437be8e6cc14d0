/** Formats numbers and dates in the locale of the browser, and by the clock of a time zone. */
import { type Clock, UTC } from './clock.ts';

const WHOLE = new Intl.NumberFormat();
const COMPACT = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });
const PERCENT = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 0 });
const BYTES = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'].map(
  (unit) =>
    new Intl.NumberFormat(undefined, {
      ...{ style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits: unit === 'byte' ? 0 : 1 },
    }),
);

export function formatNumber(value: number): string {
  return WHOLE.format(value);
}

export function formatCompact(value: number): string {
  return value < 10_000 ? WHOLE.format(value) : COMPACT.format(value);
}

export function formatShare(share: number): string {
  return PERCENT.format(share);
}

export function formatBytes(bytes: number): string {
  const power = Math.min(BYTES.length - 1, bytes < 1 ? 0 : Math.floor(Math.log10(bytes) / 3));
  return BYTES[power]?.format(bytes / 1000 ** power) ?? String(bytes);
}

/** A count with its noun, in singular or plural. */
export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${WHOLE.format(count)} ${count === 1 ? one : many}`;
}

/** How many of all items a search has found. */
export function countFound(found: number, all: number, one: string): string {
  const total = formatCount(all, one);
  return found === all ? total : `${WHOLE.format(found)} of ${total}`;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatWith(instant: string | number, clock: Clock, options: Intl.DateTimeFormatOptions): string {
  const name = JSON.stringify(options);
  let format = formats.get(name);
  if (format === undefined) {
    format = new Intl.DateTimeFormat(undefined, { ...options, timeZone: 'UTC' });
    formats.set(name, format);
  }
  return format.format(clock.localOf(typeof instant === 'number' ? instant : Date.parse(instant)));
}

export function formatDate(instant: string | number, clock: Clock): string {
  return formatWith(instant, clock, { dateStyle: 'medium' });
}

export function formatInstant(instant: string, clock: Clock): string {
  return formatWith(instant, clock, { dateStyle: 'medium', timeStyle: 'short' });
}

/** A calendar day, independent of any time zone. */
export function formatDay(day: string): string {
  return formatDate(`${day}T00:00:00Z`, UTC);
}

/** The name of a period with this start: long for text, short for axes. */
export function formatPeriod(
  start: string,
  interval: string,
  clock: Clock,
  length: 'long' | 'short',
): string {
  const isShort = length === 'short';
  switch (interval) {
    case 'hour':
      return formatWith(
        start,
        clock,
        isShort
          ? { hour: 'numeric', day: 'numeric', month: 'short' }
          : { dateStyle: 'medium', timeStyle: 'short' },
      );
    case 'month':
      return formatWith(start, clock, { month: isShort ? 'short' : 'long', year: 'numeric' });
    case 'week':
      return isShort
        ? formatWith(start, clock, { day: 'numeric', month: 'short', year: '2-digit' })
        : `Week of ${formatDate(start, clock)}`;
    default:
      return isShort
        ? formatWith(start, clock, { day: 'numeric', month: 'short' })
        : formatWith(start, clock, { dateStyle: 'full' });
  }
}

/** Names of the days of the week, starting with Monday. */
export function weekdays(style: 'long' | 'short'): readonly string[] {
  const monday = Date.UTC(2024, 0, 1);
  return Array.from({ length: 7 }, (_, day) =>
    formatWith(monday + day * 86_400_000, UTC, { weekday: style }),
  );
}

export function formatHour(hour: number): string {
  return formatWith(Date.UTC(2024, 0, 1, hour), UTC, { hour: 'numeric' });
}

/** Capitalizes words of the API, like `coadmin` or `pin.created`. */
export function capitalize(word: string): string {
  return word.charAt(0).toLocaleUpperCase() + word.slice(1);
}
