/** What an operator should know about a key that is in force. Other keys have no warnings. */
import { type LongestLife, livesTooLong } from './key-life.ts';
import { type KeyEntry, statusOf } from './keyring.ts';

export type KeyWarning = 'lives-too-long';

export function warningsOf(entry: KeyEntry, nowMs: number, longestMs: LongestLife): readonly KeyWarning[] {
  if (statusOf(entry, nowMs) !== 'active') return [];
  return livesTooLong(entry, longestMs) ? ['lives-too-long'] : [];
}
