/** Values of a database's answer as the type that their column has. */

export function text(value: unknown): string {
  if (typeof value !== 'string') throw new Error('expected a text in the database');
  return value;
}

export function bigint(value: unknown): bigint {
  if (typeof value !== 'bigint') throw new Error('expected an integer in the database');
  return value;
}
