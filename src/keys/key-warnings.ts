/** What an operator should know about a key that is in force. Other keys have no warnings. */
import { type LongestLife, livesTooLong } from './key-life.ts';
import { type KeyDates, statusOf } from './keyring.ts';

const DAY_MS = 86_400_000;
/** Time to rotate a key, and to give the new one to its clients. */
export const EXPIRES_SOON_DAYS = 14;
/** Longer than the pauses of most clients, such as reports for a quarter. */
export const UNUSED_DAYS = 90;

export const KEY_WARNINGS = ['expires-soon', 'unused', 'lives-too-long'] as const;
export type KeyWarning = (typeof KEY_WARNINGS)[number];

export function warningsOf(dates: KeyDates, nowMs: number, longestMs?: LongestLife): readonly KeyWarning[] {
  if (statusOf(dates, nowMs) !== 'active') return [];
  const { createdMs, expiresMs = Infinity, lastUsedMs = createdMs } = dates;
  const isTrue: Readonly<Record<KeyWarning, boolean>> = {
    'expires-soon': expiresMs <= nowMs + EXPIRES_SOON_DAYS * DAY_MS,
    unused: lastUsedMs <= nowMs - UNUSED_DAYS * DAY_MS,
    'lives-too-long': livesTooLong(dates, longestMs),
  };
  return KEY_WARNINGS.filter((warning) => isTrue[warning]);
}
