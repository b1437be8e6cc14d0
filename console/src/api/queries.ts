/** Answers as React sees them: asked for once, kept for a while, and asked for again when they failed on the way. */
import { QueryClient, type UseQueryResult, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { Board, Person } from './answers.ts';
import { ApiError, nextPage, parseExact, pathWith, request, requestJson } from './client.ts';

const FRESH_MS = 60_000;
const MOST_RETRIES = 2;
const LIST_PAGE = 10_000;
/** Of people and boards, so many are looked through at once. */
export const MOST_LISTED = 50_000;

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      refetchOnWindowFocus: false,
      retry: (failures, error) => failures < MOST_RETRIES && isPassing(error),
    },
  },
});

function isPassing(error: Error): boolean {
  return error instanceof ApiError && [0, 500, 502, 504].includes(error.status);
}

/** The answer of a path; undefined asks nothing. While only parameters change, the answer before it stays in sight. */
export function useAnswer<T>(path: string | undefined): UseQueryResult<T> {
  return useQuery<T>({
    queryKey: ['answer', path],
    queryFn: ({ signal }) => requestJson<T>(path ?? '', { signal }),
    enabled: path !== undefined,
    placeholderData: (earlier, query) => (isAbout(query?.queryKey[1], path) ? earlier : undefined),
  });
}

/** Whether two paths ask for the same figures of the same board and person. */
function isAbout(one: unknown, other: string | undefined): boolean {
  if (typeof one !== 'string' || other === undefined) return false;
  const [first, second] = [one, other].map((path) => new URL(path, location.origin));
  return (
    first !== undefined &&
    first.pathname === second?.pathname &&
    ['board', 'user', 'by'].every((name) => first.searchParams.get(name) === second.searchParams.get(name))
  );
}

/** Every board, or everybody, whom the key may see, page by page. */
function useList<T>(path: string, isWanted: boolean): UseQueryResult<readonly T[]> {
  return useQuery<readonly T[]>({
    queryKey: ['list', path],
    enabled: isWanted,
    queryFn: async ({ signal }) => {
      const all: T[] = [];
      let page: string | undefined = pathWith(path, { limit: LIST_PAGE });
      while (page !== undefined && all.length < MOST_LISTED) {
        const response: Response = await request(page, { signal });
        all.push(...parseExact<T[]>(await response.text()));
        page = nextPage(response);
      }
      return all;
    },
  });
}

export function useBoards(isWanted = true): UseQueryResult<readonly Board[]> {
  return useList('/b/v1/boards', isWanted);
}

export function usePeople(isWanted = true): UseQueryResult<readonly Person[]> {
  return useList('/b/v1/users', isWanted);
}

interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
}

/** A list that is too long to be held: pages as they are scrolled to. */
export function usePages<T>(path: string) {
  return useInfiniteQuery({
    queryKey: ['pages', path],
    queryFn: async ({ pageParam, signal }): Promise<Page<T>> => {
      const response = await request(pageParam, { signal });
      return { items: parseExact<T[]>(await response.text()), next: nextPage(response) };
    },
    initialPageParam: path,
    getNextPageParam: ({ next }) => next,
  });
}
