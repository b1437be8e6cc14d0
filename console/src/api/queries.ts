/** Requests as React hooks: each is sent only once, and its result is kept for a while. */
import {
  keepPreviousData,
  QueryCache,
  QueryClient,
  queryOptions,
  type UseQueryResult,
  useInfiniteQuery,
  useQuery,
  useSuspenseQuery,
} from '@tanstack/react-query';
import type { InsightEventsOptions, InsightsClient, VariantA } from '../../../src/client/client.ts';
import { insightQuery } from '../../../src/client/insights.ts';
import { PATHS } from '../../../src/client/schema-insights.ts';
import { Clock } from '../view/clock.ts';
import type { Board, CommunityEvent, Person } from './answers.ts';
import { loseRefusedKey, openApi } from './client.ts';

const FRESH_MS = 60_000;
const LIST_PAGE = 10_000;
/** The console loads at most this many users or boards. */
export const MOST_LISTED = 50_000;

export const queries = new QueryClient({
  queryCache: new QueryCache({ onError: loseRefusedKey }),
  // The client already retries.
  defaultOptions: { queries: { staleTime: FRESH_MS, refetchOnWindowFocus: false, retry: false } },
});

/** If only the parameters change, and not `about`, the previous result stays visible meanwhile. */
function useAnswer<T>(
  about: string,
  parameters: object | undefined,
  ask: (signal: AbortSignal) => Promise<T>,
): UseQueryResult<T> {
  return useQuery<T>({
    queryKey: ['answer', about, parameters],
    queryFn: ({ signal }) => ask(signal),
    enabled: parameters !== undefined,
    placeholderData: (earlier, query) => (query?.queryKey[1] === about ? earlier : undefined),
  });
}

type Figures = Omit<InsightsClient, 'events'>;
/** The common type of all methods, whatever their options. */
type Ask<T> = (options: object) => Promise<T>;

/** The result of a method of the insights client. Without options, no request is sent. */
export function useFigures<M extends keyof Figures>(
  method: M,
  options: Parameters<Figures[M]>[0],
): UseQueryResult<Awaited<ReturnType<Figures[M]>>> {
  const { board = '', user = '', by = '' } = { ...options } as Readonly<Record<string, unknown>>;
  return useAnswer(`${method} ${board} ${user} ${by}`, options, (signal) =>
    (openApi().insights[method] as Ask<Awaited<ReturnType<Figures[M]>>>)({ ...options, signal }),
  );
}

const clockOf = (zone: string) =>
  queryOptions({
    queryKey: ['clock', zone],
    queryFn: async ({ signal }) => new Clock((await openApi().insights.zone({ zone, signal })).offsets),
  });

/** Suspends until the clock of a time zone is known. */
export function useClock(zone: string): Clock {
  return useSuspenseQuery(clockOf(zone)).data;
}

/** Until it is known, that of the previous time zone, or undefined. */
export function useClockIfKnown(zone: string): Clock | undefined {
  return useQuery({ ...clockOf(zone), placeholderData: keepPreviousData }).data;
}

interface Range {
  readonly start?: string | undefined;
  readonly end?: string | undefined;
}

export function usePointsOfBoard(id: string, range: Range): UseQueryResult<VariantA.PointsMap> {
  return useAnswer(`points of board ${id}`, range, (signal) =>
    openApi().a.pointsOfBoard(id, { ...range, signal }),
  );
}

/** Keyed by the id of the board. */
export function usePointsOfPerson(id: string, range: Range): UseQueryResult<VariantA.PointsMap> {
  return useAnswer(`points of person ${id}`, range, (signal) =>
    openApi().a.pointsOfUser(id, { ...range, key: 'board', signal }),
  );
}

/** All elements of a list that the key can see, at most `MOST_LISTED`. */
function useList<T>(
  name: string,
  isWanted: boolean,
  open: (options: { pageSize: number; signal: AbortSignal }) => AsyncIterable<T>,
): UseQueryResult<readonly T[]> {
  return useQuery<readonly T[]>({
    queryKey: ['list', name],
    enabled: isWanted,
    queryFn: async ({ signal }) => {
      const all: T[] = [];
      for await (const item of open({ pageSize: LIST_PAGE, signal })) {
        all.push(item);
        if (all.length === MOST_LISTED) break;
      }
      return all;
    },
  });
}

export function useBoards(isWanted = true): UseQueryResult<readonly Board[]> {
  return useList('boards', isWanted, (options) => openApi().b.boards(options));
}

export function usePeople(isWanted = true): UseQueryResult<readonly Person[]> {
  return useList('users', isWanted, (options) => openApi().b.users(options));
}

/** Selects events. */
export type EventFilter = Pick<InsightEventsOptions, 'board' | 'user' | 'action'> & Range;

/** Loads events page by page while the user scrolls, because they may be too many for memory. */
export function useEvents(filter: EventFilter, pageSize: number) {
  return useInfiniteQuery({
    queryKey: ['events', filter],
    queryFn: async ({ pageParam, signal }) => {
      const query = { ...insightQuery(filter), cursor: pageParam };
      const { elements, cursor } = await openApi().page(PATHS.findEvents, query, pageSize, signal);
      return { items: elements as readonly CommunityEvent[], next: cursor };
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
  });
}
