/** Variant B of the contract (section 4.3): one row per route. */

import type { VariantTable } from '../request/route.ts';
import { eventRoutes } from './event-routes.ts';
import { listRoute } from './route-presets.ts';
import { BoardOfVariantB, UserOfVariantB } from './schemas.ts';

export const VARIANT_B: VariantTable = {
  variant: 'b',
  title: 'Corkboard, Variant B',
  version: '0.0.1',
  // The published example requests users without the prefix (decision 1).
  unversioned: ['/users'],
  routes: [
    ...eventRoutes({
      all: '/events',
      ofBoard: '/board/{board-id}',
      ofPins: '/pins',
      ofUser: '/user/{user-id}',
    }),
    listRoute('boards', 'b', BoardOfVariantB, { id: 7, title: 'Welcome', category: 'Communications' }),
    listRoute('users', 'b', UserOfVariantB, {
      id: 12,
      email: 'ada@example.org',
      role: 'user',
      name: 'Ada Lovelace',
    }),
  ],
};
