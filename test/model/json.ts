/**
 * JSON in the model: plain values, with `bigint` for ids, and maps if the order of names matters.
 */
export type Json =
  | string
  | number
  | bigint
  | boolean
  | null
  | readonly Json[]
  | ReadonlyMap<string, Json>
  | { readonly [name: string]: Json | undefined };

/** Escapes the characters in JSON that line readers take for line ends (decision 70). */
export function escaped(json: string): string {
  return json.replaceAll('\u0085', '\\u0085').replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}

/** Compact JSON text with members in the given order; omits `undefined` members. */
export function renderJson(value: Json): string {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return escaped(JSON.stringify(value));
  if (isList(value)) return `[${value.map(renderJson).join(',')}]`;
  const members = value instanceof Map ? [...value] : Object.entries(value);
  const texts = members
    .filter(([, member]) => member !== undefined)
    .map(([name, member]) => `${escaped(JSON.stringify(name))}:${renderJson(member)}`);
  return `{${texts.join(',')}}`;
}

function isList(value: object): value is readonly Json[] {
  return Array.isArray(value);
}
