/**
 * Rules of time zones as in the variable `TZ` of POSIX, with the extensions of RFC 9636:
 * `CET-1CEST,M3.5.0,M10.5.0/3`. They end the compiled files of the time zone database.
 */
import type { ClockChange } from './zone-files.ts';

const NAME = '(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]+>)';
const TIME = '[+-]?\\d{1,3}(?::\\d{2}){0,2}';
const DATE = `(?:J?\\d{1,3}|M\\d{1,2}\\.\\d\\.\\d)(?:/${TIME})?`;
const RULE = new RegExp(`^${NAME}(${TIME})(?:${NAME}(${TIME})?,(${DATE}),(${DATE}))?$`);

const SECOND_MS = 1000;
const DAY_MS = 86_400_000;
/** Local time of a change whose rule has none. */
const TWO_O_CLOCK = '2';
/** 1 March in a year that is not a leap year; the days of `J` begin with 1. */
const FIRST_OF_MARCH = 60;

/**
 * The changes of a year by the rule, ascending; none if it has none. Throws an `Error` if the rule
 * cannot be read.
 */
export function posixRule(rule: string): (year: number) => readonly ClockChange[] {
  const [, standard, summer, from, until] = RULE.exec(rule) ?? [];
  if (standard === undefined) throw new Error(`a time zone has a rule that cannot be read: ${rule}`);
  // Positive west of Greenwich.
  const standardMs = 0 - readTime(standard);
  if (from === undefined || until === undefined) return () => [];
  const summerMs = summer === undefined ? standardMs + readTime('1') : 0 - readTime(summer);
  return (year) => {
    const ends = { atMs: localOf(until, year) - summerMs, offsetMs: standardMs };
    const begins = { atMs: localOf(from, year) - standardMs, offsetMs: summerMs };
    return begins.atMs < ends.atMs ? [begins, ends] : [ends, begins];
  };
}

/** Hours, minutes and seconds in milliseconds. */
function readTime(text: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = text.replace(/^[+-]/, '').split(':').map(Number);
  return (text.startsWith('-') ? -1 : 1) * (hours * 3600 + minutes * 60 + seconds) * SECOND_MS;
}

/** The local time of a change, like `M3.5.0/3`: at 3 on the last Sunday of March. */
function localOf(written: string, year: number): number {
  const [date = '', time = TWO_O_CLOCK] = written.split('/');
  return dayOf(date, year) + readTime(time);
}

function dayOf(date: string, year: number): number {
  if (date.startsWith('M')) {
    const [month = 0, week = 0, weekday = 0] = date.slice(1).split('.').map(Number);
    // Week 5 is the last one.
    return week === 5
      ? weekdayFrom(startOf(year, month) - 7 * DAY_MS, weekday)
      : weekdayFrom(startOf(year, month - 1), weekday) + (week - 1) * 7 * DAY_MS;
  }
  const start = startOf(year, 0);
  if (!date.startsWith('J')) return start + Number(date) * DAY_MS;
  const day = Number(date.slice(1));
  const isLeap = startOf(year, 2) - start === FIRST_OF_MARCH * DAY_MS;
  return start + (day - 1 + (isLeap && day >= FIRST_OF_MARCH ? 1 : 0)) * DAY_MS;
}

/** The first such weekday, of which 0 is Sunday, at or after a midnight. */
function weekdayFrom(ms: number, weekday: number): number {
  return ms + ((weekday - new Date(ms).getUTCDay() + 7) % 7) * DAY_MS;
}

function startOf(year: number, month: number): number {
  // Not `Date.UTC`, which adds 1900 to years before 100.
  const start = new Date(0);
  return start.setUTCFullYear(year, month, 1);
}
