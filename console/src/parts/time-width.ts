/** Widths of table columns with times: measured, because times are longer in some locales. */
import { UTC } from '../view/clock.ts';
import { formatDate, formatInstant, formatPeriod } from '../view/format.ts';

/** Horizontal padding of a cell, and slack for digits of equal width. */
const AROUND = '2.5rem';
/** Size of the font with which text is measured. */
const MEASURED_PX = 100;
const DAY_MS = 86_400_000;
/** An hour that has two digits with 12 and with 24 hours a day. */
const LATE_HOUR_MS = 22 * 3_600_000 + 58 * 60_000;

const widths = new Map<string, string>();

/** The width of a column of dates with times, in CSS. */
export function instantWidth(): string {
  return widthOf('instant', (instant) => formatInstant(instant, UTC));
}

/** The width of a column of dates, in CSS. */
export function dateWidth(): string {
  return widthOf('date', (instant) => formatDate(instant, UTC));
}

/** The width of a column of periods, in CSS. */
export function periodWidth(interval: string): string {
  return widthOf(`period ${interval}`, (instant) => formatPeriod(instant, interval, UTC, 'long'));
}

/** In `em`, so that the width follows the font size of the table. */
function widthOf(name: string, format: (instant: string) => string): string {
  let width = widths.get(name);
  if (width === undefined) {
    const longest = Math.max(...SAMPLES.map(format).map(measure));
    width = `calc(${(longest / MEASURED_PX).toFixed(2)}em + ${AROUND})`;
    widths.set(name, width);
  }
  return width;
}

/** Every day of the week in every month, with days of two digits. */
const SAMPLES = Array.from({ length: 12 }, (_, month) =>
  Array.from({ length: 7 }, (_day, day) =>
    new Date(Date.UTC(2028, month, 20) + day * DAY_MS + LATE_HOUR_MS).toISOString(),
  ),
).flat();

let context: CanvasRenderingContext2D | null | undefined;

function measure(text: string): number {
  context ??= document.createElement('canvas').getContext('2d');
  // Without a canvas, the width of a digit in most fonts.
  if (context === null) return text.length * 0.6 * MEASURED_PX;
  context.font = `${MEASURED_PX}px ${getComputedStyle(document.body).fontFamily}`;
  return context.measureText(text).width;
}
