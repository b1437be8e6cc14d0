/** Links from one page to the next (decision 18). */
import type { EventPosition, PointsPosition } from '../../dataset/query.ts';
import { type RequestTarget, uriReference } from '../http/target.ts';
import { sealCursor, type WalkPlace } from './cursor.ts';
import type { Ask } from './route.ts';
import type { Secrets, TokenBinding } from './secrets.ts';

/** The cursor of the page after this one; absent when it is the last. */
export function cursorOfNext(
  ask: Ask,
  next: EventPosition | PointsPosition | bigint | undefined,
  walk: () => TokenBinding,
  secrets: Secrets,
): string | undefined {
  return next === undefined ? undefined : sealCursor(placeOf(ask, next), walk(), secrets);
}

/** The `Link` field of a page, with the path and query of the request; empty on the last page. */
export function linkToNext(target: RequestTarget, cursor: string | undefined): Record<string, string> {
  if (cursor === undefined) return {};
  const query = new URLSearchParams(target.query);
  query.set('cursor', cursor);
  return { link: `<${uriReference(target.path)}?${query}>; rel="next"` };
}

function placeOf(ask: Ask, next: EventPosition | PointsPosition | bigint): WalkPlace {
  if (typeof next === 'bigint') return { afterId: next };
  if ('boardId' in next) return { afterPoints: next };
  // All pages show what was published when the first one was requested. If a server is behind, they
  // show what this server has.
  const { lastSequence } = ask.dataset;
  const begun =
    ask.place !== undefined && 'upToSequence' in ask.place ? ask.place.upToSequence : lastSequence;
  return { after: next, upToSequence: Math.min(begun, lastSequence) };
}
