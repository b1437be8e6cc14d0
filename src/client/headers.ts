/** Header fields that say how to go on: `Link` where the next page is, `Retry-After` how long to wait. */
import { AnswerError } from './errors.ts';

/**
 * Absent on the last page. Only the cursor is taken from `Link`: its address is the one that the
 * server sees, which a proxy may have changed.
 */
export function nextCursor(headers: Headers): string | undefined {
  const target = /<([^<>]*)>\s*;[^,]*\brel="?next\b/.exec(headers.get('link') ?? '')?.[1];
  if (target === undefined) return undefined;
  const cursor = new URLSearchParams(target.split('?')[1]).get('cursor');
  // To end here would lose the rest without a word.
  if (cursor !== null && cursor !== '') return cursor;
  throw new AnswerError('unreadable', 'The header Link names a next page without a cursor.');
}

/** Seconds, or the date of HTTP. Absent for anything else. */
export function retryAfterMs(headers: Headers): number | undefined {
  const text = headers.get('retry-after') ?? '';
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const untilMs = Date.parse(text) - Date.now();
  return Number.isNaN(untilMs) ? undefined : Math.max(untilMs, 0);
}
