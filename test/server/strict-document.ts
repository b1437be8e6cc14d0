/**
 * A stricter form of an OpenAPI document, for tests. The published documents are kept simple for
 * client generators: they allow unknown members, describe instants by one pattern, and describe
 * change sets and refusals that do not depend on the route apart from the operations.
 */
import { EARLIEST_INSTANT_MS, LATEST_INSTANT_MS } from '../../src/domain/instant.ts';
import { PARAMETERS } from '../../src/server/request/parameters.ts';

const INSTANT = PARAMETERS.start.schema;

/** What `INSTANT` means. */
const STRICT_INSTANT = {
  anyOf: [
    { type: 'integer', minimum: EARLIEST_INSTANT_MS, maximum: -100_000_000_000 },
    { type: 'integer', minimum: EARLIEST_INSTANT_MS / 1000, maximum: LATEST_INSTANT_MS },
    {
      type: 'string',
      format: 'date-time',
      pattern: '^(?!0000)\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:[0-5]\\d',
    },
  ],
};

/** Refuses members that the document does not describe. */
export function closed<T>(document: T): T {
  return changed(document, (node) =>
    node['type'] === 'object' && !('additionalProperties' in node)
      ? { ...node, additionalProperties: false }
      : node,
  );
}

/** Closed, with exact instants. */
export function strict<T>(document: T): T {
  return changed(closed(document), (node) =>
    'pattern' in INSTANT && node['pattern'] === INSTANT.pattern ? STRICT_INSTANT : node,
  );
}

type JsonObject = Readonly<Record<string, unknown>>;

/** A copy in which every object is replaced, from the innermost to the outermost. */
function changed<T>(value: T, replace: (node: JsonObject) => JsonObject): T {
  const copy = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(copy);
    if (typeof part !== 'object' || part === null) return part;
    return replace(Object.fromEntries(Object.entries(part).map(([name, inner]) => [name, copy(inner)])));
  };
  return copy(value) as T;
}
