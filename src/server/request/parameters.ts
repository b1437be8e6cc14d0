/** The query parameters of the data routes: name, description and parser of each. */
import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { parseIdentifier } from '../../domain/identifier.ts';
import { parseInstant } from '../../domain/instant.ts';
import { SPLITS } from '../../insights/groups.ts';
import { INTERVALS } from '../../insights/periods.ts';
import { ORDERS } from '../../insights/ranking.ts';
import { MOST_TOP } from '../../insights/top.ts';
import { COLUMN_TITLE, GRADEBOOKS, GRADED_VALUES } from '../../points/gradebook.ts';
import { LISTED } from '../../render/text/representations.ts';
import { EXPECTED_ZONE, expectedZone, zoneOf } from '../../system/zones.ts';

export interface Parameter<T> {
  readonly schema: TSchema;
  readonly description: string;
  readonly example: string | number;
  /** Completes "… has to be". */
  readonly expected: string;
  /** Likewise, for an invalid text. */
  advise?(text: string): string;
  /** Absent when the text is invalid. */
  read(text: string): T | undefined;
}

const LARGEST_LIMIT = 10_000;
const MOST_DAYS = 3_650;

/** Control characters, and the line ends of Unicode. */
const CONTROL = '\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029';
const NO_FORMULA = ` *([^ ,;"=+@\uff1d\uff0b\uff0d\uff20${CONTROL}-][^,;"${CONTROL}]*)?`;
/** A line without formulas: exactly those that `defuse` leaves as they are. */
const TITLE = Type.String({ minLength: 1, maxLength: 200, pattern: `^${NO_FORMULA}([,;"]${NO_FORMULA})*$` });

/** One type, because most client generators turn a union into a value of any type. */
const INSTANT = Type.String({
  pattern:
    '^(-?\\d{1,15}(\\.\\d{1,9})?|\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:[0-5]\\d(\\.\\d+)?([Zz]|[+-]\\d{2}:\\d{2}))$',
  description:
    'Unix milliseconds, Unix seconds (numbers below 100,000,000,000), or an ISO 8601 date-time with an offset. Digits finer than a millisecond are dropped.',
});

const INSTANT_EXPECTED =
  'Unix milliseconds (13 digits), Unix seconds, or an ISO 8601 date-time with an offset, whose plus sign is written as %2B';

function instant(description: string, example: string): Parameter<number> {
  return {
    ...{ schema: INSTANT, description, example, expected: INSTANT_EXPECTED, read: parseInstant },
    advise: adviseInstant,
  };
}

/** Names the instant that is probably meant. */
function adviseInstant(text: string): string {
  // In a query, a plus sign that is not written as %2B is a space.
  const forms = [`${text}T00:00:00Z`, `${text}Z`, text.replace(/ (?=\d\d:?\d\d$)/, '+')];
  const meant = forms.find((form) => parseInstant(form) !== undefined) ?? '2018-03-01T00:00:00Z';
  return `${INSTANT_EXPECTED}, such as ${meant.replace('+', '%2B')}`;
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

/** A parameter that is described completely by its schema. */
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

export function orList(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}

export const PARAMETERS = {
  start: instant('Start of the time range, inclusive.', '1514764800000'),
  end: instant('End of the time range, exclusive.', '1546300800000'),
  limit: bySchema(Type.Integer({ minimum: 1, maximum: LARGEST_LIMIT }), {
    description:
      'Maximum number of elements in the response; the header `Link` has the next page. Without it, the response is complete.',
    example: 100,
    expected: `an integer from 1 to ${LARGEST_LIMIT}`,
  }),
  cursor: bySchema(Type.String({ minLength: 1, maxLength: 200, pattern: '^[A-Za-z0-9_-]+$' }), {
    description: 'Start of a page, taken from the header `Link` of the previous page. Requires `limit`.',
    example: 'bm90IGEgcmVhbCBjdXJzb3I',
    expected: 'a cursor from the header "Link" of the previous page',
  }),
  since: bySchema(Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9_-]+$' }), {
    description:
      'Only changes since an earlier response: the value of its header `Sync-Token`, or `start` for everything in the form of changes (with `sync_id`, `forgotten` and `deleted`). JSON and NDJSON only.',
    example: 'start',
    expected: 'the word start, or the value of the header "Sync-Token" of an earlier response',
  }),
  token: bySchema(Type.Enum(['record']), {
    description:
      'With `record`, the response, or its last page, ends with one more item, `{"sync_token":"…"}`: the value of the header `Sync-Token`, for clients that keep their state from records. Requires `since`.',
    example: 'record',
    expected: 'the word record, or be left out',
  }),
  format: bySchema(Type.Enum([...LISTED]), {
    description: 'Representation, for clients that cannot send `Accept`.',
    example: 'csv',
    expected: orList(LISTED),
  }),
  excel: bySchema(Type.Enum(['1']), {
    description:
      'With `1`, CSV for Excel and other spreadsheets: it starts with a byte order mark, and text that they could run as a formula is preceded by an apostrophe. Requires CSV. Not suitable for import.',
    example: '1',
    expected: '1, or be left out',
  }),
  key: bySchema(Type.Enum(['board']), {
    description:
      'With `board`, records are named by the id of their board, regardless of the setting of the organization.',
    example: 'board',
    expected: 'the word board, or be left out',
  }),
  // Only for the insights.
  board: identifier('Only events, or points, on this board.', 7),
  user: identifier('Only events of which this user is the actor, or points of this user.', 12),
  action: bySchema(Type.String({ minLength: 1, maxLength: 200 }), {
    description: 'Only events with this action.',
    example: 'visited',
    expected: 'a word of at most 200 characters',
  }),
  interval: bySchema(Type.Enum([...INTERVALS]), {
    description:
      'Length of a period, `day` by default. Weeks start on Monday, quarters in January, April, July and October.',
    example: 'week',
    expected: INTERVALS.join(', '),
  }),
  zone: {
    schema: Type.String({ minLength: 1, maxLength: 100, pattern: '^[A-Za-z]' }),
    description: 'IANA time zone of days and hours, `UTC` by default.',
    example: 'Europe/Vienna',
    expected: EXPECTED_ZONE,
    advise: expectedZone,
    read: (text: string) => (zoneOf(text) === undefined ? undefined : text),
  },
  by: bySchema(Type.Enum([...SPLITS]), {
    description:
      'Split events by this; with `board`, boards beyond the first `top` form one series. `lms` splits by the LMS property of the actor that `property` names.',
    example: 'action',
    expected: SPLITS.join(', '),
  }),
  property: bySchema(Type.String({ minLength: 1, maxLength: 64 }), {
    description:
      'Name of an LMS property of users, for `by=lms`. A key needs a permission for each property. A value can have a series if at least ten users with events that the key can see have it; all others, and those beyond the first `top`, form the last series. The 0 of a value means no events, or that they are in the last series, because fewer than ten users with the value acted in the period or because the users of the last series would otherwise be fewer than ten.',
    example: 'cohort',
    expected: 'the name of an LMS property, of at most 64 characters',
  }),
  order: bySchema(Type.Enum([...ORDERS]), {
    description: '`events` (default): most events first. `recent`: latest event first.',
    example: 'recent',
    expected: ORDERS.join(' or '),
  }),
  top: bySchema(Type.Integer({ minimum: 1, maximum: MOST_TOP }), {
    description: 'Maximum number of elements, from the first.',
    example: 10,
    expected: `an integer from 1 to ${MOST_TOP}`,
  }),
  days: bySchema(Type.Integer({ minimum: 1, maximum: MOST_DAYS }), {
    description: 'Days of 24 hours without activity after which a user is inactive, 14 by default.',
    example: 14,
    expected: `an integer from 1 to ${MOST_DAYS}`,
  }),
  at: instant(
    'Instant at which pace and activity are judged; by default that of the last event on the board.',
    '1514764800000',
  ),
  compare: bySchema(Type.Enum(['previous']), {
    description:
      'With `previous`, the response has the same figures of the range before, which is as long as the requested one and ends where that starts. Requires `start` and `end`.',
    example: 'previous',
    expected: 'the word previous, or be left out',
  }),
  // Only for gradebooks.
  for: bySchema(Type.Enum([...GRADEBOOKS]), {
    description: 'The system that imports the file, `generic` by default.',
    example: 'canvas',
    expected: orList(GRADEBOOKS),
  }),
  value: bySchema(Type.Enum([...GRADED_VALUES]), {
    description:
      '`score` (default): the participation score. `points`: the total points. No effect for `generic`, which has both.',
    example: 'points',
    expected: orList(GRADED_VALUES),
  }),
  column: bySchema(TITLE, {
    description: `Title of the column in the gradebook, \`${COLUMN_TITLE}\` by default. No effect for \`generic\`.`,
    example: COLUMN_TITLE,
    expected: 'one line of at most 200 characters that a spreadsheet does not run as a formula',
  }),
  id: bySchema(Type.String({ minLength: 1, maxLength: 200 }), {
    description:
      'LMS user property with the id by which the system knows users; users without a value are left out. Without it, users are known by their e-mail address. Requires a key that may see LMS ids (`--allow-lms-lookup`).',
    example: 'sis_user_id',
    expected: 'the name of an LMS user property',
  }),
  class_role: bySchema(Type.String({ minLength: 1, maxLength: 200 }), {
    description: 'Only users with this class role.',
    example: 'student',
    expected: 'a class role of at most 200 characters',
  }),
} as const;

export type ParameterName = keyof typeof PARAMETERS;

/** Parsed values by name; a parameter that was not given is absent. */
export type Parameters = {
  [N in ParameterName]?: NonNullable<ReturnType<(typeof PARAMETERS)[N]['read']>>;
};
