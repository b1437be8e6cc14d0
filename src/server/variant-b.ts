/** Variant B of the contract (section 4.3): every route, as a row. */
import { boardId, EVENTS, listOf, ORDER_OF_EVENTS, userId } from './kinds-of-routes.ts';
import { type Ask, eventsAsked, identifierNamed, listAsked, type VariantTable } from './route.ts';
import { BoardOfVariantB, UserOfVariantB } from './schemas.ts';

export const VARIANT_B: VariantTable = {
  variant: 'b',
  title: 'Corkboard, Variant B',
  version: '0.0.1',
  // The published example asks for users without the prefix (decision 1).
  unversioned: ['/users'],
  routes: [
    {
      ...EVENTS,
      operation: 'listEvents',
      path: '/events',
      summary: 'All interactions of the organization',
      description: ORDER_OF_EVENTS,
      of: 'organization',
      names: [],
      answer: async (ask) => ask.rendering.events(eventsAsked(ask), ask.representation),
    },
    {
      ...EVENTS,
      operation: 'listEventsOfBoard',
      path: '/board/{board-id}',
      summary: 'All interactions on a board',
      description: ORDER_OF_EVENTS,
      of: 'board',
      names: [boardId('board-id')],
      name: (text) => ({ by: 'id', value: identifierNamed('board-id', text) }),
      answer: async (ask, board) => ask.rendering.events({ ...eventsAsked(ask), board }, ask.representation),
    },
    {
      ...EVENTS,
      operation: 'listEventsOfPins',
      path: '/pins',
      summary: 'All events of type pin, across all boards',
      description: ORDER_OF_EVENTS,
      of: 'organization',
      names: [],
      answer: async (ask) =>
        ask.rendering.events({ ...eventsAsked(ask), pinsOnly: true }, ask.representation),
    },
    {
      ...EVENTS,
      operation: 'listEventsOfUser',
      path: '/user/{user-id}',
      summary: 'All interactions from a user',
      description: ORDER_OF_EVENTS,
      of: 'user',
      names: [userId('user-id')],
      name: (text) => ({ by: 'id', value: identifierNamed('user-id', text) }),
      answer: async (ask, actor) => ask.rendering.events({ ...eventsAsked(ask), actor }, ask.representation),
    },
    {
      ...listOf('Boards', BoardOfVariantB, { id: 7, title: 'Welcome', category: 'Communications' }),
      operation: 'listBoards',
      path: '/boards',
      summary: 'The boards of the organization',
      answer: async (ask: Ask) => ask.rendering.boards(listAsked(ask), 'b', ask.representation),
    },
    {
      ...listOf('Users', UserOfVariantB, {
        id: 12,
        email: 'ada@example.org',
        role: 'user',
        name: 'Ada Lovelace',
      }),
      operation: 'listUsers',
      path: '/users',
      summary: 'The users of the organization',
      answer: async (ask: Ask) => ask.rendering.users(listAsked(ask), 'b', ask.representation),
    },
  ],
};
