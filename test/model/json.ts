/** JSON in the model: plain values with `bigint` for identifiers, and maps where the order of names matters. */
export type Json =
  | string
  | number
  | bigint
  | boolean
  | null
  | readonly Json[]
  | ReadonlyMap<string, Json>
  | { readonly [name: string]: Json | undefined };

/** Compact JSON text, members in the order given; members that are `undefined` are left out. */
export function renderJson(value: Json): string {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (isList(value)) return `[${value.map(renderJson).join(',')}]`;
  const members = value instanceof Map ? [...value] : Object.entries(value);
  const texts = members
    .filter(([, member]) => member !== undefined)
    .map(([name, member]) => `${JSON.stringify(name)}:${renderJson(member)}`);
  return `{${texts.join(',')}}`;
}

function isList(value: object): value is readonly Json[] {
  return Array.isArray(value);
}
