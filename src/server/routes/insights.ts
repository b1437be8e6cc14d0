/**
 * The insights: analytics, in addition to the two variants of the contract. The same keys, scope,
 * redaction, refusals and caching apply (decision 50).
 */
import { type TSchema, Type } from 'typebox';
import { LISTED } from '../../render/text/representations.ts';
import type { ParameterName } from '../request/parameters.ts';
import { identifierNamed, type Route, type VariantTable } from '../request/route.ts';
import { EVENT_LIST } from './event-routes.ts';
import { GRADEBOOK } from './gradebook.ts';
import {
  answerActivity,
  answerAttention,
  answerEvents,
  answerHeatMap,
  answerInteractions,
  answerLedger,
  answerOverview,
  answerParticipation,
  answerPins,
  answerPoints,
  answerRanked,
  answerReturning,
  answerZone,
} from './insight-responses.ts';
import {
  Activity,
  Attention,
  HeatMap,
  Interactions,
  LedgerOfUser,
  Overview,
  Participation,
  PointsRow,
  RankedBoard,
  RankedPins,
  RankedUser,
  Returning,
  ZoneOffsets,
} from './insight-schemas.ts';
import { asTable, INSIGHT_TABLES, TABLE_PARAMETERS } from './insight-tables.ts';
import { boardId, userId } from './route-presets.ts';

const BOARD = { id: 7, title: 'Welcome', category: 'Communications' };
const USER = { id: 12, email: 'ada@example.org', role: 'user', name: 'Ada Lovelace' };
const ORGANIZATION = { id: 1, name: 'Example', domain: 'example.org', category_id: 2 };
const NOON = '2018-03-12T12:00:00.000+00:00';
const WEEK = { interval: 'week', zone: 'UTC', zoneData: '2026c', periods: ['2018-03-12T00:00:00.000+00:00'] };
const END = '2018-03-19T00:00:00.000+00:00';

const EVENTS: readonly ParameterName[] = ['start', 'end', 'board', 'user', 'action'];

function figures(response: TSchema, example: unknown) {
  return { tag: 'Insights', names: [], representations: ['json'], response, example } as const;
}

const OF_ORGANIZATION: readonly Route[] = [
  {
    ...figures(Overview, {
      ...{ organization: ORGANIZATION, board: null, user: null },
      ...{ events: 3, people: 2, boards: 1, pins: 1, first: NOON, last: NOON },
      actions: [{ action: 'visited', events: 3 }],
    }),
    operation: 'getOverview',
    path: '/overview',
    summary: 'Number of events, users, boards and pins',
    description:
      'Counts the actors, boards and pins of the matching events. If you filter by board or user, the response contains that board or user. With `compare=previous`, `previous` has the figures of the range before.',
    of: 'organization',
    parameters: [...EVENTS, 'compare'],
    answer: answerOverview,
  },
  {
    ...figures(Activity, {
      ...{ ...WEEK, end: END, by: 'action', people: [2] },
      series: [{ label: 'visited', board: null, events: [3] }],
    }),
    ...asTable(INSIGHT_TABLES.activity),
    operation: 'getActivity',
    path: '/activity',
    summary: 'Events and active users over time',
    description:
      'Periods are consecutive, from the start of the range or the first event, at most 10,000. ' +
      'All series together have at most 500,000 values, one per series and period; with `by=board` and `by=lms`, a smaller `top` gives fewer series. CSV has a row for each period and series.',
    of: 'organization',
    parameters: [...EVENTS, 'interval', 'zone', 'by', 'property', 'top', ...TABLE_PARAMETERS],
    answer: answerActivity,
  },
  {
    ...figures(Returning, { ...WEEK, end: END, newcomers: [1], returning: [1] }),
    ...asTable(INSIGHT_TABLES.returning),
    operation: 'getReturning',
    path: '/returning',
    summary: 'New and returning users over time',
    description:
      'A user is new in the period of their first matching event that the key can see. Events before the range count, too. CSV has a row for each period.',
    of: 'organization',
    parameters: [...EVENTS, 'interval', 'zone', ...TABLE_PARAMETERS],
    answer: answerReturning,
  },
  {
    ...figures(ZoneOffsets, {
      ...{ zone: 'Europe/Vienna', zoneData: '2026c' },
      offsets: [{ start: null, seconds: 3600 }],
    }),
    operation: 'getZone',
    path: '/zone',
    summary: 'Offsets of a time zone',
    description:
      'The offsets from UTC by the time zone rules of the server, so that a client can show the days and hours that insights count.',
    of: 'organization',
    parameters: ['zone'],
    answer: answerZone,
  },
  {
    ...figures(HeatMap, { zone: 'UTC', zoneData: '2026c', hours: new Array(7).fill(new Array(24).fill(0)) }),
    ...asTable(INSIGHT_TABLES.heatMap),
    operation: 'getHeatMap',
    path: '/heat-map',
    summary: 'Events by day of the week and hour',
    description:
      'Seven lists, from Monday to Sunday, of 24 hours each, in the time zone. CSV has a row for each hour of each day.',
    of: 'organization',
    parameters: [...EVENTS, 'zone', ...TABLE_PARAMETERS],
    answer: answerHeatMap,
  },
  {
    ...figures(Type.Array(RankedBoard), [{ board: BOARD, events: 3, people: 2, last: NOON }]),
    ...asTable(INSIGHT_TABLES.boards),
    operation: 'rankBoards',
    path: '/boards',
    summary: 'The most active boards',
    description: 'Boards without matching events are left out.',
    of: 'organization',
    parameters: [...EVENTS, 'order', 'top', ...TABLE_PARAMETERS],
    answer: (ask) => answerRanked(ask, 'board'),
  },
  {
    ...figures(Type.Array(RankedUser), [{ user: USER, events: 3, boards: 1, last: NOON }]),
    ...asTable(INSIGHT_TABLES.users),
    operation: 'rankUsers',
    path: '/users',
    summary: 'The most active users',
    description: 'Users who are not the actor of a matching event are left out.',
    of: 'organization',
    parameters: [...EVENTS, 'order', 'top', ...TABLE_PARAMETERS],
    answer: (ask) => answerRanked(ask, 'actor'),
  },
  {
    ...EVENT_LIST,
    operation: 'findEvents',
    path: '/events',
    summary: 'Events by board, user and action',
    description:
      'The events that the insights count, in the form of the events routes of Variant A, oldest first.',
    of: 'organization',
    names: [],
    parameters: [...EVENTS, 'limit', 'cursor', 'format', 'excel'],
    answer: answerEvents,
  },
];

const POINTS: Route = {
  tag: 'Points',
  operation: 'listPoints',
  path: '/points',
  summary: 'Points of all users on all boards, a row each',
  description:
    'The points totals of the points routes of Variant A. Ascending by board id, then user id. The range is about when points were awarded.',
  of: 'organization',
  names: [],
  parameters: ['start', 'end', 'board', 'user', 'limit', 'cursor', 'format', 'excel'],
  representations: LISTED,
  response: Type.Array(PointsRow),
  items: { ndjson: PointsRow, csv: PointsRow, parquet: PointsRow },
  example: [
    {
      ...{ user_id: 12, email: 'ada@example.org', name: 'Ada Lovelace' },
      ...{ board_id: 7, board_title: 'Welcome', total_points: 65, participation_score: 65 },
    },
  ],
  answer: answerPoints,
};

const OF_BOARD: readonly Route[] = [
  {
    ...figures(Participation, {
      ...{ board: BOARD, goal: 100, window_start: null, window_end: null, at: NOON },
      ...{
        people: 1,
        reached: 0,
        under_way: 1,
        not_started: 0,
        distribution: [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0],
      },
      ...{ median_points: 15, elapsed: null, pace_points: null },
      ...{ at_risk: [{ user: USER, total_points: 15, participation_score: 15 }], at_risk_people: 1 },
    }),
    operation: 'getParticipation',
    path: '/boards/{board-id}/participation',
    summary: 'Progress of the users on a board towards its goal',
    description: 'Points of all time, as the points routes return them without a range.',
    of: 'board',
    names: [boardId('board-id')],
    parameters: ['at', 'top'],
    name: (text) => ({ by: 'id', value: identifierNamed('board-id', text) }),
    answer: answerParticipation,
  },
  {
    ...figures(Attention, {
      ...{ board: BOARD, at: NOON, days: 14, people: 2, median_points: 15 },
      ...{ inactive_people: 1, behind_people: 1 },
      attention: [
        {
          ...{ user: USER, last: null, inactive_days: null, inactive: true, behind: true },
          ...{ total_points: 0, participation_score: 0 },
        },
      ],
      attention_people: 1,
    }),
    ...asTable(INSIGHT_TABLES.attention),
    operation: 'getAttention',
    path: '/boards/{board-id}/attention',
    summary: 'Users on a board without activity, or behind the others',
    description:
      'A user is inactive without an event on the board, or without one in the `days` days before `at`. A user is behind with less than half the median of the points of all users on the board. Points are those of all time. CSV has only the users.',
    of: 'board',
    names: [boardId('board-id')],
    parameters: ['days', 'at', 'top', ...TABLE_PARAMETERS],
    name: (text) => ({ by: 'id', value: identifierNamed('board-id', text) }),
    answer: answerAttention,
  },
  {
    ...figures(RankedPins, {
      ...{ board: BOARD, pins: 1 },
      ranked: [
        {
          pin: { id: 9, title: 'First steps', web_url: '', tags: ['hello'] },
          ...{ owner: USER, events: 3, people: 2, first: NOON, last: NOON },
        },
      ],
    }),
    ...asTable(INSIGHT_TABLES.pins),
    operation: 'rankPins',
    path: '/boards/{board-id}/pins',
    summary: 'The pins of a board with the most events',
    description: 'Pins without matching events are left out. CSV has only the ranked pins.',
    of: 'board',
    names: [boardId('board-id')],
    parameters: ['start', 'end', 'user', 'action', 'top', ...TABLE_PARAMETERS],
    name: (text) => ({ by: 'id', value: identifierNamed('board-id', text) }),
    answer: answerPins,
  },
  {
    ...figures(Interactions, {
      ...{ board: BOARD, people: [USER, { ...USER, id: 13, email: 'bo@example.org', name: 'Bo' }] },
      ...{ edges: [{ actor: 12, owner: 13, events: 2 }], pairs: 1, events: 2, own_events: 1 },
    }),
    ...asTable(INSIGHT_TABLES.interactions),
    operation: 'getInteractions',
    path: '/boards/{board-id}/interactions',
    summary: 'Interactions between the users on a board',
    description:
      'A graph of users: each edge connects an actor with a different owner. CSV has a row for each edge, with both users.',
    of: 'board',
    names: [boardId('board-id')],
    parameters: ['start', 'end', 'user', 'action', 'top', ...TABLE_PARAMETERS],
    name: (text) => ({ by: 'id', value: identifierNamed('board-id', text) }),
    answer: answerInteractions,
  },
  {
    ...figures(LedgerOfUser, {
      board: BOARD,
      user: USER,
      lines: [
        {
          ...{
            timestamp: NOON,
            what: 'pin.created on pin 9 by user 12',
            rule: '1: 10 to the actor',
            points: 10,
          },
          ...{ counted: true, reason: 'counted', week: '', running_total: 10 },
        },
      ],
      ...{ counted_points: 10, adjusted_points: 0, imported: null },
      standing: { total_points: 10, participation_score: 10 },
      summary: ['Awards counted: 10.'],
    }),
    ...asTable(INSIGHT_TABLES.ledger),
    operation: 'getLedger',
    path: '/boards/{board-id}/users/{user-id}/ledger',
    summary: 'Every award of a user on a board',
    description:
      'The lines of `corkboard points explain`. The effect of activity outside the scope of the key on the total is one last line, without a time. CSV has only the lines.',
    of: 'user of board',
    names: [boardId('board-id'), userId('user-id')],
    parameters: [...TABLE_PARAMETERS],
    name: (text) => [
      { by: 'id', value: identifierNamed('board-id', text) },
      { by: 'id', value: identifierNamed('user-id', text) },
    ],
    answer: answerLedger,
  },
];

export const INSIGHTS: VariantTable = {
  variant: 'insights',
  title: 'Corkboard, insights',
  version: '1.0.0',
  unversioned: [],
  routes: [...OF_ORGANIZATION, POINTS, ...OF_BOARD, GRADEBOOK],
};
