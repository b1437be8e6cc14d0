/** Values of an answer as the type that their column has. */
import type { Value } from './database.ts';

export function text(value: Value | undefined): string {
  if (typeof value !== 'string') throw new Error('expected a text in the database');
  return value;
}

export function bigint(value: Value | undefined): bigint {
  if (typeof value !== 'bigint') throw new Error('expected an integer in the database');
  return value;
}
