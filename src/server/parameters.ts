/**
 * The query parameters of the data routes: what each is called, how it is described, and how its text is read.
 */
import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { parseIdentifier } from '../dataset/identifier.ts';
import { EARLIEST_INSTANT_MS, LATEST_INSTANT_MS, parseInstant } from '../dataset/instant.ts';
import { SPLITS } from '../insights/groups.ts';
import { INTERVALS } from '../insights/periods.ts';
import { ORDERS } from '../insights/ranking.ts';
import { isZone } from '../zone.ts';

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
const MOST_TOP = 1_000;

const INSTANT = Type.Union([
  Type.Integer({ minimum: EARLIEST_INSTANT_MS, maximum: -100_000_000_000, description: 'Unix milliseconds' }),
  Type.Integer({
    minimum: EARLIEST_INSTANT_MS / 1000,
    maximum: LATEST_INSTANT_MS,
    description: 'Unix seconds below 100,000,000,000, Unix milliseconds from there on',
  }),
  Type.String({
    format: 'date-time',
    pattern: '^(?!0000)\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:[0-5]\\d',
    description: 'ISO 8601 date-time with an offset',
  }),
]);

const INSTANT_EXPECTED =
  'Unix milliseconds (13 digits), Unix seconds, or an ISO 8601 date-time with an offset, whose plus sign is written as %2B';

function instant(description: string, example: number): Parameter<number> {
  return { schema: INSTANT, description, example, expected: INSTANT_EXPECTED, read: parseInstant };
}

function identifier(description: string, example: number): Parameter<bigint> {
  return {
    schema: Type.Integer({ format: 'int64' }),
    description,
    example,
    expected: 'an integer of at most 64 bits in decimal digits',
    read: parseIdentifier,
  };
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

/** Representations that `format` can name. */
export const FORMATS = ['json', 'ndjson', 'csv', 'parquet'] as const;

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
  since: bySchema(Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9_-]+$' }), {
    description:
      'Only what has changed since an answer was made: its header `Sync-Token`, or `start` for everything in the form that changes have (`sync_id`, `forgotten`). JSON and NDJSON only.',
    example: 'start',
    expected: 'the word start, or what the header "Sync-Token" of an earlier answer says',
  }),
  format: bySchema(Type.Enum([...FORMATS]), {
    description: 'Representation, for clients that cannot send `Accept`.',
    example: 'csv',
    expected: 'json, ndjson, csv or parquet',
  }),
  excel: bySchema(Type.Enum(['1']), {
    description:
      'With `1`, CSV for Excel and other spreadsheets: an apostrophe is put before text that they could run as a formula. Requires CSV. Not meant to be imported again.',
    example: '1',
    expected: '1, or be left out',
  }),
  key: bySchema(Type.Enum(['board']), {
    description:
      'With `board` the name of every record is the id of its board, whatever the organization has set up.',
    example: 'board',
    expected: 'the word board, or be left out',
  }),
  // Of the insights alone.
  board: identifier('Only events on this board.', 7),
  user: identifier('Only events of which this user is the actor.', 12),
  action: bySchema(Type.String({ minLength: 1, maxLength: 200 }), {
    description: 'Only events with this action.',
    example: 'visited',
    expected: 'a word of at most 200 characters',
  }),
  interval: bySchema(Type.Enum([...INTERVALS]), {
    description: 'How long the periods are; `day` without it. Weeks begin on Monday.',
    example: 'week',
    expected: INTERVALS.join(', '),
  }),
  zone: {
    schema: Type.String({ minLength: 1, maxLength: 100, pattern: '^[A-Za-z]' }),
    description: 'IANA time zone in which days and hours are counted; `UTC` without it.',
    example: 'Europe/Vienna',
    expected: 'the name of an IANA time zone',
    read: (text: string) => (isZone(text) ? text : undefined),
  },
  by: bySchema(Type.Enum([...SPLITS]), {
    description: 'What events are split by; with `board`, boards beyond the first `top` are one series.',
    example: 'action',
    expected: SPLITS.join(', '),
  }),
  order: bySchema(Type.Enum([...ORDERS]), {
    description: 'Most `events` first, as without it, or the latest event first.',
    example: 'recent',
    expected: ORDERS.join(' or '),
  }),
  top: bySchema(Type.Integer({ minimum: 1, maximum: MOST_TOP }), {
    description: 'At most so many elements, the first ones.',
    example: 10,
    expected: `an integer from 1 to ${MOST_TOP}`,
  }),
  at: instant(
    'The instant at which the pace is judged; that of the last event on the board without it.',
    1_514_764_800_000,
  ),
} as const;

export type ParameterName = keyof typeof PARAMETERS;

/** What was read, by name; a parameter that was not given is absent. */
export type Parameters = {
  [N in ParameterName]?: NonNullable<ReturnType<(typeof PARAMETERS)[N]['read']>>;
};
