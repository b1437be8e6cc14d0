/**
 * The longest life that an organization permits its keys, from their creation to their end. Keys
 * that exist when it is set are not changed.
 */
import { AppError } from '../domain/app-error.ts';
import { LATEST_INSTANT_MS } from '../domain/instant.ts';
import type { Expiry, KeyDates } from './keyring.ts';

/** Milliseconds; absent: keys may live without an end. */
export type LongestLife = number | undefined;

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

/**
 * The expiry of a key that is created now. Without a chosen one it is `usual`, or the end of the
 * longest life if that is earlier. Throws `key-life-refused` for a chosen one after that.
 */
export function expiryOfNew(
  nowMs: number,
  chosen: Expiry | undefined,
  usual: Expiry,
  longestMs: LongestLife,
): Expiry {
  const latestMs = latestEnd(nowMs, longestMs);
  if (chosen === undefined) return endOf(usual) > latestMs ? latestMs : usual;
  if (longestMs !== undefined && endOf(chosen) > latestMs) throw tooLong(longestMs);
  return chosen;
}

/**
 * Throws `key-life-refused` when an existing key with this expiry would live for too long. An
 * earlier end than the present one is always permitted.
 */
export function checkExpiry(entry: KeyDates, expiry: Expiry, longestMs: LongestLife): void {
  if (longestMs === undefined || endOf(expiry) <= latestEnd(entry.createdMs, longestMs)) return;
  if (endOf(expiry) >= endOf(entry.expiresMs ?? 'never')) throw tooLong(longestMs);
}

export function livesTooLong({ createdMs, expiresMs }: KeyDates, longestMs: LongestLife): boolean {
  return longestMs !== undefined && endOf(expiresMs ?? 'never') > latestEnd(createdMs, longestMs);
}

/** `90 days`, `36 hours`. */
export function renderLife(lifeMs: number): string {
  const [unit, unitMs] = UNITS.find(([, ms]) => lifeMs % ms === 0) ?? (['millisecond', 1] as const);
  const count = lifeMs / unitMs;
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

function latestEnd(createdMs: number, longestMs: LongestLife): number {
  return longestMs === undefined ? Infinity : Math.min(createdMs + longestMs, LATEST_INSTANT_MS);
}

function endOf(expiry: Expiry): number {
  return expiry === 'never' ? Infinity : expiry;
}

function tooLong(longestMs: number): AppError {
  return new AppError(
    'key-life-refused',
    `Keys of this organization may live for at most ${renderLife(longestMs)} from their creation. Choose an earlier --expires, rotate the key, or change the limit with "corkboard organizations configure NAME --longest-key-life".`,
  );
}
