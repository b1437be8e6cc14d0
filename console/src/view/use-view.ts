/** The state of a view. All of it is in the query of the URL, so that a view can be shared. */
import { useCallback, useEffect, useMemo } from 'react';
import { useLocation, useSearch } from 'wouter';
import type { Overview } from '../api/answers.ts';
import { useClock, useFigures } from '../api/queries.ts';
import type { Clock } from './clock.ts';
import { type Bounds, boundsOf, type Interval, intervalsFor, type Range, readRange } from './range.ts';

const GOVERNING = ['from', 'to', 'zone'];

export const ZONE_OF_READER = Intl.DateTimeFormat().resolvedOptions().timeZone;

export type Change = Readonly<Record<string, string | undefined>>;

/** The parameters of the URL and a function to change some; undefined or empty removes one. */
export function useParameters(): readonly [URLSearchParams, (change: Change) => void] {
  const search = useSearch();
  const [path, navigate] = useLocation();
  const parameters = useMemo(() => new URLSearchParams(search), [search]);
  const change = useCallback(
    (changes: Change) => {
      // Read from `location`, so that several changes before the next rendering add up.
      const next = new URLSearchParams(location.search);
      for (const [name, value] of Object.entries(changes)) {
        if (value === undefined || value === '') next.delete(name);
        else next.set(name, value);
      }
      navigate(withQuery(path, next), { replace: true });
    },
    [path, navigate],
  );
  return [parameters, change];
}

function withQuery(path: string, query: URLSearchParams): string {
  return query.size === 0 ? path : `${path}?${query}`;
}

/** A link to a page that keeps the range. */
export function useLink(): (path: string, more?: Change) => string {
  const search = useSearch();
  return (path, more = {}) => {
    const now = new URLSearchParams(search);
    const next = new URLSearchParams();
    for (const name of GOVERNING) if (now.has(name)) next.set(name, now.get(name) ?? '');
    for (const [name, value] of Object.entries(more)) if (value !== undefined) next.set(name, value);
    return withQuery(path, next);
  };
}

export function useDays(): Range {
  const [parameters] = useParameters();
  return useMemo(() => readRange(parameters, ZONE_OF_READER), [parameters]);
}

/** Suspends until the clock of the time zone is known. */
export function useRange(): Range & Bounds & { readonly clock: Clock } {
  const range = useDays();
  const clock = useClock(range.zone);
  return useMemo(() => ({ ...range, ...boundsOf(range, clock), clock }), [range, clock]);
}

/** Adds the time zone to the URL, because a shared view must state the zone of its days. */
export function useStatedZone(): void {
  const [parameters, change] = useParameters();
  const { zone } = useDays();
  const isStated = parameters.get('zone') === zone;
  useEffect(() => {
    if (!isStated) change({ zone });
  }, [isStated, zone, change]);
}

/** The overview of all events, independent of the range. */
export function useWhole() {
  return useFigures('overview', {});
}

export interface ChosenInterval {
  readonly interval: Interval;
  readonly possible: readonly Interval[];
  /** Whether the length of the range is known. Until then, no request by period is possible. */
  readonly isKnown: boolean;
}

/** `span` is the first and last event of the shown data; if absent, that of all events is used. */
export function useInterval(span?: Pick<Overview, 'first' | 'last'>): ChosenInterval {
  const [parameters] = useParameters();
  const range = useRange();
  const { data } = useWhole();
  const known = span ?? data;
  const isKnown = known !== undefined || (range.from !== undefined && range.to !== undefined);
  const { possible, best } = intervalsFor(range, range.clock, known?.first ?? null, known?.last ?? null);
  const chosen = possible.find((interval) => interval === parameters.get('interval'));
  return { interval: chosen ?? best, possible, isKnown };
}
