/** Variant B of the contract (section 4.3): every route, as a row. */
import { eventRoutes } from './event-routes.ts';
import { listOf } from './kinds-of-routes.ts';
import { type Ask, boardsOf, usersOf, type VariantTable } from './route.ts';
import { BoardOfVariantB, UserOfVariantB } from './schemas.ts';

export const VARIANT_B: VariantTable = {
  variant: 'b',
  title: 'Corkboard, Variant B',
  version: '0.0.1',
  // The published example asks for users without the prefix (decision 1).
  unversioned: ['/users'],
  routes: [
    ...eventRoutes({
      all: '/events',
      ofBoard: '/board/{board-id}',
      ofPins: '/pins',
      ofUser: '/user/{user-id}',
    }),
    {
      ...listOf('Boards', BoardOfVariantB, { id: 7, title: 'Welcome', category: 'Communications' }),
      operation: 'listBoards',
      path: '/boards',
      summary: 'The boards of the organization',
      answer: (ask: Ask) => boardsOf(ask, 'b'),
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
      answer: (ask: Ask) => usersOf(ask, 'b'),
    },
  ],
};
