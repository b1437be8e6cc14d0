/** Every path of the route tables, with ids of the small world. */
import type { Route } from '../../src/server/request/route.ts';
import { publishedBases, routeUrls } from '../../src/server/routes/variants.ts';

/** Values by the name of the parameter in the routes. */
const NAMES: Readonly<Record<string, string>> = {
  ...{ board_id: '7', boardId: '7', user_id: '1', userId: '1' },
  ...{ ltiId: 'lti-7', courseId: 'C%208', prop: 'sis', val: 'B-1' },
};

export interface PublishedPath {
  /** The base of the variant; empty for the root. */
  readonly base: string;
  readonly path: string;
  readonly route: Route;
}

export const PUBLISHED_PATHS: readonly PublishedPath[] = publishedBases('a').flatMap(({ base, table }) =>
  table.routes.flatMap((route) =>
    routeUrls(base, table, route).map((url) => ({
      base,
      path: url.replace(/:(\w+)/g, (_, name: string) => NAMES[name] ?? name),
      route,
    })),
  ),
);
