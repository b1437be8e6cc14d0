/** Small requests of each kind, different enough that no response comes from a cache. */
import { boardIds, type Community, halfRanges, userIds, windows } from './community.ts';

export const SMALL_KINDS = ['board', 'user', 'window', 'points', 'range'] as const;
export type SmallKind = (typeof SMALL_KINDS)[number];

const MOST_QUESTIONS = 10_000;

/** Paths of different requests, at most 10,000. */
export function questionsOf(kind: SmallKind, community: Community): string[] {
  switch (kind) {
    case 'board':
      return boardIds(community)
        .slice(0, MOST_QUESTIONS)
        .map((id) => `/a/v1/events/board/${id}`);
    case 'user':
      return userIds(community)
        .slice(0, MOST_QUESTIONS)
        .map((id) => `/a/v1/events/user/${id}`);
    case 'window':
      return windows(community, MOST_QUESTIONS).map(
        ({ startMs, endMs }) => `/a/v1/events?start=${startMs}&end=${endMs}`,
      );
    case 'points':
      return boardIds(community)
        .slice(0, MOST_QUESTIONS)
        .map((id) => `/a/v1/board/${id}/points`);
    case 'range': {
      const boards = boardIds(community).slice(0, MOST_QUESTIONS);
      return halfRanges(boards.length).map(
        ({ startMs, endMs }, at) => `/a/v1/board/${boards[at]}/points?start=${startMs}&end=${endMs}`,
      );
    }
  }
}
