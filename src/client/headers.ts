/** Response headers that control the next request: `Link` and `Retry-After`. */
import { AnswerError } from './errors.ts';

/**
 * The cursor of the next page; undefined on the last page. Only the cursor of `Link` is used: its
 * address is the one that the server sees, and a proxy may have changed it.
 */
export function nextCursor(headers: Headers): string | undefined {
  const target = /<([^<>]*)>\s*;[^,]*\brel="?next\b/.exec(headers.get('link') ?? '')?.[1];
  if (target === undefined) return undefined;
  const cursor = new URLSearchParams(target.split('?')[1]).get('cursor');
  // Ending here would silently lose the remaining pages.
  if (cursor !== null && cursor !== '') return cursor;
  throw new AnswerError('unreadable', 'The Link header has a next page without a cursor.');
}

/** Converts seconds or an HTTP date to milliseconds from now; undefined for anything else. */
export function retryAfterMs(headers: Headers): number | undefined {
  const text = headers.get('retry-after') ?? '';
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const untilMs = Date.parse(text) - Date.now();
  return Number.isNaN(untilMs) ? undefined : Math.max(untilMs, 0);
}
