/**
 * The query parameters of the data routes: what each is called, how it is described, and how its text is read.
 */
import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { EARLIEST_INSTANT_MS, LATEST_INSTANT_MS, parseInstant } from '../dataset/instant.ts';

export interface Parameter<T> {
  readonly schema: TSchema;
  readonly description: string;
  readonly example: string | number;
  /** Completes "… has to be". */
  readonly expected: string;
  /** Absent when the text cannot be read. */
  read(text: string): T | undefined;
}

const LARGEST_LIMIT = 10_000;

const INSTANT = Type.Union([
  Type.Integer({ minimum: EARLIEST_INSTANT_MS, maximum: -100_000_000_000, description: 'Unix milliseconds' }),
  Type.Integer({ minimum: EARLIEST_INSTANT_MS / 1000, maximum: LATEST_INSTANT_MS }),
  Type.String({ format: 'date-time', pattern: '^(?!0000)\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:[0-5]\\d' }),
]);

const INSTANT_EXPECTED =
  'Unix milliseconds (13 digits), Unix seconds, or an ISO 8601 date-time with an offset, whose plus sign is written as %2B';

function instant(description: string, example: number): Parameter<number> {
  return { schema: INSTANT, description, example, expected: INSTANT_EXPECTED, read: parseInstant };
}

/** A parameter whose schema says all there is to say about it. */
function bySchema<S extends TSchema>(
  schema: S,
  parameter: Omit<Parameter<Static<S>>, 'schema' | 'read'>,
): Parameter<Static<S>> {
  return {
    ...parameter,
    schema,
    read(text) {
      const value: unknown = 'type' in schema && schema.type === 'integer' ? readInteger(text) : text;
      return Value.Check(schema, value) ? value : undefined;
    },
  };
}

function readInteger(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

export const PARAMETERS = {
  start: instant('Start of the range; it belongs to the range.', 1_514_764_800_000),
  end: instant('End of the range; it does not belong to the range any more.', 1_546_300_800_000),
  limit: bySchema(Type.Integer({ minimum: 1, maximum: LARGEST_LIMIT }), {
    description:
      'At most so many elements; the next page stands in the header `Link`. Without it all come at once.',
    example: 100,
    expected: `an integer from 1 to ${LARGEST_LIMIT}`,
  }),
  cursor: bySchema(Type.String({ minLength: 1, maxLength: 200, pattern: '^[A-Za-z0-9_-]+$' }), {
    description: 'Where a page begins, as the header `Link` of the page before gives it. Needs `limit`.',
    example: 'bm90IGEgcmVhbCBjdXJzb3I',
    expected: 'a cursor out of the header "Link" of the page before',
  }),
  format: bySchema(Type.Enum(['json', 'ndjson', 'csv']), {
    description: 'Representation, for clients that cannot send `Accept`.',
    example: 'csv',
    expected: 'json, ndjson or csv',
  }),
  key: bySchema(Type.Enum(['board']), {
    description: 'With `board` every record sits under the id of its board.',
    example: 'board',
    expected: 'the word board, or be left out',
  }),
} as const;

export type ParameterName = keyof typeof PARAMETERS;

/** What was read, by name; a parameter that was not given is absent. */
export type Parameters = {
  [N in ParameterName]?: NonNullable<ReturnType<(typeof PARAMETERS)[N]['read']>>;
};
