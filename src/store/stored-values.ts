/** Checks that values of database results have the type of their column. */
import { USER_POINTS_KEYS, type UserPointsKey } from '../dataset/dataset.ts';
import type { DerivedIds } from './store.ts';

export function text(value: unknown): string {
  if (typeof value !== 'string') throw new Error('expected a text in the database');
  return value;
}

export function bigint(value: unknown): bigint {
  if (typeof value !== 'bigint') throw new Error('expected an integer in the database');
  return value;
}

export function userPointsKey(value: unknown): UserPointsKey {
  const key = USER_POINTS_KEYS.find((one) => one === value);
  if (key === undefined) throw new Error('expected user-id or board-id in the database');
  return key;
}

export function derivedIds(value: unknown): DerivedIds {
  if (value === 'keyed' || value === 'plain') return value;
  throw new Error('expected keyed or plain in the database');
}
