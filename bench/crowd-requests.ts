/** Requests of each kind to a community with extremes (`crowd.ts`). */
import { type Community, timeSpan } from './community.ts';
import {
  BOARD_OF_ALL,
  BOARD_OF_LEDGER,
  BOARD_OF_PAIRS,
  boardsOfCrowd,
  USER_OF_ALL,
  USER_OF_LEDGER,
} from './crowd.ts';

export type KeyName = 'full' | 'email' | 'name' | 'both' | 'ids' | 'boards' | 'otherBoards' | 'users';

export interface Asked {
  readonly title: string;
  readonly key?: KeyName;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Number of repetitions; absent: several. */
  readonly repeats?: number;
  /** A different request with the same work for each number. */
  path(nth: number): string;
}

export function requestsOf(community: Community): readonly Asked[] {
  const { startMs, lengthMs } = timeSpan();
  const from = (nth: number) => `start=${startMs - 1 - nth}`;
  const insight = (title: string, path: string): Asked => ({
    title: `insights: ${title}`,
    path: (nth) => `/insights/v1/${path}${path.includes('?') ? '&' : '?'}${from(nth)}`,
  });
  const same = (title: string, path: string, more: Partial<Asked> = {}): Asked => ({
    title,
    path: () => path,
    ...more,
  });
  const ranged = (title: string, path: string, more: Partial<Asked> = {}): Asked => ({
    title,
    path: (nth) => `${path}${path.includes('?') ? '&' : '?'}${from(nth)}`,
    ...more,
  });
  const board = boardsOfCrowd(community).at(-1)!;
  const gzip = { 'accept-encoding': 'gzip' };
  return [
    same('the first request of all: a board', `/a/v1/events/board/${board}`),
    same('events of a board', `/a/v1/events/board/${board}`),
    ranged('events of a board, in a range', `/a/v1/events/board/${board}`),
    same('all events', '/a/v1/events'),
    ranged('all events, in a range', '/a/v1/events'),
    ranged('all events, in a range, gzip', '/a/v1/events', { headers: gzip }),
    ranged('all events, in a range, CSV', '/a/v1/events?format=csv'),
    ranged('all events, in a range, NDJSON', '/a/v1/events?format=ndjson'),
    ranged('all events, in a range, Parquet', '/a/v1/events?format=parquet', { repeats: 1 }),
    ranged('all events, HEAD', '/a/v1/events', { method: 'HEAD' }),
    ranged('all events, pages of 10,000', '/a/v1/events?limit=10000'),
    ranged('events of a large board', `/a/v1/events/board/${BOARD_OF_PAIRS}`),
    ranged('events of an active user', `/a/v1/events/user/${USER_OF_LEDGER}`),
    ranged('events of pins', '/a/v1/events/pins'),
    ranged('since=start', '/a/v1/events?since=start'),
    ranged('since=start, pages', '/a/v1/events?since=start&limit=10000'),
    ranged('events by board, user and action', `/insights/v1/events?board=${BOARD_OF_LEDGER}&action=visited`),
    same('users, A, JSON', '/a/v1/users'),
    ranged('users, A, JSON, in a range', '/a/v1/users'),
    ranged('users, A, JSON, gzip', '/a/v1/users', { headers: gzip }),
    ranged('users, A, NDJSON', '/a/v1/users?format=ndjson'),
    ranged('users, A, CSV', '/a/v1/users?format=csv'),
    ranged('users, A, Parquet', '/a/v1/users?format=parquet'),
    ranged('users, B, JSON', '/b/v1/users'),
    ranged('users, A, HEAD', '/a/v1/users', { method: 'HEAD' }),
    ranged('users, A, pages of 10,000', '/a/v1/users?limit=10000'),
    ranged('boards, A, JSON', '/a/v1/boards'),
    ranged('boards, A, CSV', '/a/v1/boards?format=csv'),
    ranged('boards, A, Parquet', '/a/v1/boards?format=parquet'),
    ranged('boards, B, JSON', '/b/v1/boards'),
    same('points of a board with everybody', `/a/v1/board/${BOARD_OF_ALL}/points`),
    ranged('points of a board with everybody, in a range', `/a/v1/board/${BOARD_OF_ALL}/points`),
    same('points of a user on every board', `/a/v1/user/${USER_OF_ALL}/points`),
    ranged('points of a user on every board, in a range', `/a/v1/user/${USER_OF_ALL}/points?key=board`),
    same('304', `/a/v1/events/board/${board}`, { headers: { 'if-none-match': '*' } }),
    ranged('e-mail and names redacted: users', '/a/v1/users', { key: 'both' }),
    ranged('e-mail redacted: all events', '/a/v1/events', { key: 'email' }),
    ranged('names redacted: points', `/a/v1/board/${BOARD_OF_ALL}/points`, { key: 'name' }),
    ranged('ids redacted: users', '/a/v1/users', { key: 'ids' }),
    ranged('ids redacted: points', `/a/v1/board/${BOARD_OF_ALL}/points`, { key: 'ids' }),
    ranged('ids redacted: the most active users', '/insights/v1/users?top=1000', { key: 'ids' }),
    same('10,000 boards: a board', `/a/v1/events/board/${BOARD_OF_ALL}`, { key: 'boards' }),
    ranged('10,000 boards: all events', '/a/v1/events', { key: 'boards' }),
    ranged('10,000 boards: all events, Parquet', '/a/v1/events?format=parquet', {
      ...{ key: 'boards', repeats: 1 },
    }),
    ranged('10,000 boards: users', '/a/v1/users', { key: 'boards' }),
    ranged('10,000 boards, all users: users', '/a/v1/users', { key: 'otherBoards' }),
    ranged('10,000 users: a page', '/a/v1/events?limit=100', { key: 'users' }),
    ranged('10,000 users: points', `/a/v1/board/${BOARD_OF_ALL}/points`, { key: 'users' }),
    insight('overview', 'overview'),
    insight('activity by day', 'activity'),
    insight('activity by hour', 'activity?interval=hour'),
    insight('activity by day and action', 'activity?by=action'),
    insight('activity by day and role', 'activity?by=role'),
    insight('activity by day and board, 1,000', 'activity?by=board&top=1000'),
    insight('activity by hour and board, 60', 'activity?by=board&interval=hour&top=60'),
    {
      title: 'insights: activity by month, 9,000 in a zone',
      path: (nth) =>
        `/insights/v1/activity?interval=month&zone=Europe/Vienna&start=2000-01-01T00:00:00Z&end=2750-01-01T00:00:0${nth}Z`,
    },
    {
      title: 'insights: activity of no event, 9,900 hours',
      path: (nth) =>
        `/insights/v1/activity?interval=hour&start=${startMs - 9_900 * 3_600_000 - nth}&end=${startMs}`,
    },
    insight('returning by week', 'returning?interval=week'),
    insight('returning by hour', 'returning?interval=hour'),
    insight('heat map', 'heat-map?zone=Europe/Vienna'),
    insight('boards, 1,000', 'boards?top=1000'),
    insight('boards, latest', 'boards?top=1000&order=recent'),
    insight('users, 1,000', 'users?top=1000'),
    insight('users, latest', 'users?top=1000&order=recent'),
    insight('pins of a board', `boards/${BOARD_OF_LEDGER}/pins?top=1000`),
    insight('interactions of a board', `boards/${BOARD_OF_PAIRS}/interactions?top=1000`),
    {
      title: 'insights: participation on a board with everybody',
      path: (nth) =>
        `/insights/v1/boards/${BOARD_OF_ALL}/participation?top=1000&at=${startMs + lengthMs + nth}`,
    },
    {
      title: 'insights: a ledger of a tenth of all events',
      path: () => `/insights/v1/boards/${BOARD_OF_LEDGER}/users/${USER_OF_LEDGER}/ledger`,
    },
  ];
}
