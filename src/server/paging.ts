/** From one page to the next (decision 18). */
import type { EventPosition } from '../dataset/query.ts';
import type { Place } from './cursor.ts';
import type { Ask } from './route.ts';
import { type Target, uriReference } from './target.ts';

/** The `Link` field of a page: none when it is the last. */
export function linkToNext(
  target: Target,
  ask: Ask,
  next: EventPosition | bigint | undefined,
  seal: (place: Place) => string,
): Record<string, string> {
  if (next === undefined) return {};
  const query = new URLSearchParams(target.query);
  query.set('cursor', seal(placeOf(ask, next)));
  return { link: `<${uriReference(target.path)}?${query}>; rel="next"` };
}

function placeOf(ask: Ask, next: EventPosition | bigint): Place {
  if (typeof next === 'bigint') return { afterId: next };
  // The whole walk sees what was published when it began.
  const begun = ask.place !== undefined && 'upToSequence' in ask.place ? ask.place.upToSequence : undefined;
  return { after: next, upToSequence: begun ?? ask.dataset.lastSequence };
}
