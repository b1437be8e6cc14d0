/** The routes of events: the same in both variants but for their paths (contract 4.2, 4.3). */
import { Type } from 'typebox';
import { boardId, PAGED, userId } from './kinds-of-routes.ts';
import { eventsAsked, identifierNamed, type Route } from './route.ts';
import { Event } from './schemas.ts';

const PERSON = {
  id: 12,
  email: 'ada@example.org',
  name: 'Ada Lovelace',
  role: 'user',
  class_role: 'instructor',
};

export const EVENT_LIST = {
  tag: 'Events',
  representations: ['json', 'ndjson', 'csv'],
  response: Type.Array(Event),
  example: [
    {
      type: 'board',
      action: 'followed',
      owner: PERSON,
      actor: PERSON,
      organization: { id: 1, name: 'Example', domain: 'example.org', category_id: 2 },
      board: { id: 7, title: 'Welcome', category: 'Communications' },
      timestamp: '2018-03-12T17:00:45.567+00:00',
    },
  ],
} as const;

const EVENTS = {
  ...EVENT_LIST,
  description: 'Oldest first, ties by order of import. The range is about `timestamp`.',
  parameters: PAGED,
} as const;

/** Paths name a board `{board-id}` and a user `{user-id}`. */
export function eventRoutes(
  paths: Readonly<Record<'all' | 'ofBoard' | 'ofPins' | 'ofUser', string>>,
): Route[] {
  return [
    {
      ...EVENTS,
      operation: 'listEvents',
      path: paths.all,
      summary: 'All interactions of the organization',
      of: 'organization',
      names: [],
      answer: async (ask) => ask.rendering.events(eventsAsked(ask), ask.representation),
    },
    {
      ...EVENTS,
      operation: 'listEventsOfBoard',
      path: paths.ofBoard,
      summary: 'All interactions on a board',
      of: 'board',
      names: [boardId('board-id')],
      name: (text) => ({ by: 'id', value: identifierNamed('board-id', text) }),
      answer: async (ask, board) => ask.rendering.events({ ...eventsAsked(ask), board }, ask.representation),
    },
    {
      ...EVENTS,
      operation: 'listEventsOfPins',
      path: paths.ofPins,
      summary: 'All events of type pin, across all boards',
      of: 'organization',
      names: [],
      answer: async (ask) =>
        ask.rendering.events({ ...eventsAsked(ask), pinsOnly: true }, ask.representation),
    },
    {
      ...EVENTS,
      operation: 'listEventsOfUser',
      path: paths.ofUser,
      summary: 'All interactions from a user',
      of: 'user',
      names: [userId('user-id')],
      name: (text) => ({ by: 'id', value: identifierNamed('user-id', text) }),
      answer: async (ask, actor) => ask.rendering.events({ ...eventsAsked(ask), actor }, ask.representation),
    },
  ];
}
