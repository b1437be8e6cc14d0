/**
 * The range of all pages, as in the URL: days in a time zone, both ends included, or everything
 * without limits.
 */
import type { Clock } from './clock.ts';
import { addDays, countDays, dayOf, isDay, isZone, startOfDay } from './days.ts';

export interface Range {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly zone: string;
}

/** The range as parameters of the API: the end is exclusive. */
export interface Bounds {
  readonly start: string | undefined;
  readonly end: string | undefined;
}

export interface Preset {
  readonly name: string;
  readonly from: string | undefined;
  readonly to: string | undefined;
}

/** Ignores parameters that are not valid. */
export function readRange(search: URLSearchParams, zoneOfReader: string): Range {
  const [from, to, zone] = ['from', 'to', 'zone'].map((name) => search.get(name) ?? null) as [
    string | null,
    string | null,
    string | null,
  ];
  const days = [isDay(from) ? from : undefined, isDay(to) ? to : undefined] as const;
  const isReversed = days[0] !== undefined && days[1] !== undefined && days[0] > days[1];
  return {
    from: isReversed ? days[1] : days[0],
    to: isReversed ? days[0] : days[1],
    zone: isZone(zone) ? zone : zoneOfReader,
  };
}

export function boundsOf({ from, to }: Range, clock: Clock): Bounds {
  const iso = (ms: number) => new Date(ms).toISOString();
  return {
    start: from === undefined ? undefined : iso(startOfDay(from, clock)),
    end: to === undefined ? undefined : iso(startOfDay(addDays(to, 1), clock)),
  };
}

/** "Last" ranges end at the last event, not today, so a shared URL keeps showing the same. */
export function presetsOf(first: string | null, last: string | null, clock?: Clock): readonly Preset[] {
  const all: Preset = { name: 'All time', from: undefined, to: undefined };
  if (first === null || last === null || clock === undefined) return [all];
  const [firstDay, to] = [dayOf(Date.parse(first), clock), dayOf(Date.parse(last), clock)];
  const lately = [7, 30, 90, 365].map((days) => ({
    ...{ name: days === 365 ? 'Last 12 months of data' : `Last ${days} days of data`, to },
    from: addDays(to, 1 - days),
  }));
  const years: Preset[] = [];
  for (let year = Number(to.slice(0, 4)); year >= Number(firstDay.slice(0, 4)) && years.length < 5; year--) {
    years.push({ name: String(year), from: `${year}-01-01`, to: `${year}-12-31` });
  }
  return [all, ...lately, ...years];
}

export const INTERVALS = ['hour', 'day', 'week', 'month'] as const;
export type Interval = (typeof INTERVALS)[number];

const DAYS_OF: Readonly<Record<Interval, number>> = { hour: 1 / 24, day: 1, week: 7, month: 30 };
const MOST_PERIODS = 750;
const MANY_PERIODS = 120;

/** The intervals with which a chart is readable, and the default one. */
export function intervalsFor(
  { from, to }: Range,
  clock: Clock,
  first: string | null,
  last: string | null,
): { readonly possible: readonly Interval[]; readonly best: Interval } {
  const firstDay = from ?? (first === null ? undefined : dayOf(Date.parse(first), clock));
  const lastDay = to ?? (last === null ? undefined : dayOf(Date.parse(last), clock));
  const days =
    firstDay === undefined || lastDay === undefined ? 1 : Math.max(1, countDays(firstDay, lastDay));
  const possible = INTERVALS.filter((interval) => days / DAYS_OF[interval] <= MOST_PERIODS);
  const best = INTERVALS.find((interval) => days / DAYS_OF[interval] <= MANY_PERIODS) ?? 'month';
  return { possible: possible.length === 0 ? ['month'] : possible, best };
}
