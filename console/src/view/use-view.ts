/** The state of a view: all of it stands in the query of the URL, so that a view can be shared. */
import { useCallback, useEffect, useMemo } from 'react';
import { useLocation, useSearch } from 'wouter';
import type { Overview } from '../api/answers.ts';
import { useFigures } from '../api/queries.ts';
import { type Bounds, boundsOf, type Interval, intervalsFor, type Range, readRange } from './range.ts';

const GOVERNING = ['from', 'to', 'zone'];

export const ZONE_OF_READER = Intl.DateTimeFormat().resolvedOptions().timeZone;

export type Change = Readonly<Record<string, string | undefined>>;

/** The parameters of the URL, and how to change some; what is undefined or empty goes. */
export function useParameters(): readonly [URLSearchParams, (change: Change) => void] {
  const search = useSearch();
  const [path, navigate] = useLocation();
  const parameters = useMemo(() => new URLSearchParams(search), [search]);
  const change = useCallback(
    (changes: Change) => {
      // Several changes in one turn build on each other.
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

export function useRange(): Range & Bounds {
  const [parameters] = useParameters();
  return useMemo(() => {
    const range = readRange(parameters, ZONE_OF_READER);
    return { ...range, ...boundsOf(range) };
  }, [parameters]);
}

/** A shared view has to say in which zone its days are. */
export function useStatedZone(): void {
  const [parameters, change] = useParameters();
  const { zone } = useRange();
  const isStated = parameters.get('zone') === zone;
  useEffect(() => {
    if (!isStated) change({ zone });
  }, [isStated, zone, change]);
}

/** What there is at all, whatever the range. */
export function useWhole() {
  return useFigures('overview', {});
}

export interface ChosenInterval {
  readonly interval: Interval;
  readonly possible: readonly Interval[];
  /** Whether it is known how long the range is; until then nothing can be asked by period. */
  readonly isKnown: boolean;
}

/** `span` is from the first to the last event of what is shown, where that is known; otherwise of all there is. */
export function useInterval(span?: Pick<Overview, 'first' | 'last'>): ChosenInterval {
  const [parameters] = useParameters();
  const range = useRange();
  const { data } = useWhole();
  const known = span ?? data;
  const isKnown = known !== undefined || (range.from !== undefined && range.to !== undefined);
  const { possible, best } = intervalsFor(range, known?.first ?? null, known?.last ?? null);
  const chosen = possible.find((interval) => interval === parameters.get('interval'));
  return { interval: chosen ?? best, possible, isKnown };
}
