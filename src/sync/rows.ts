/** From the elements of responses to rows of a copy. Throws `source-refused` for other records. */
import { AppError } from '../domain/app-error.ts';
import { EVENT_SECTIONS } from '../render/text/fields.ts';
import { type ColumnType, type CopyRow, type CopyTable, EVENTS } from './tables.ts';

type ElementFields = Readonly<Record<string, unknown>>;

/** `element`: an event of a change set. */
export function eventRow(element: unknown): CopyRow {
  const event = fieldsOf(element);
  const cells: Record<string, unknown> = {
    [EVENTS.key]: event[EVENTS.key],
    timestamp: event['timestamp'],
  };
  for (const { of, prefix, fields } of EVENT_SECTIONS) {
    const section = of === 'kind' ? event : event[of === 'activity' ? 'pin' : of];
    const from = section === undefined ? {} : fieldsOf(section);
    for (const field of fields) cells[prefix + field] = from[field];
  }
  return rowOf(EVENTS, cells);
}

export function listRow(table: CopyTable, element: unknown): CopyRow {
  return rowOf(table, fieldsOf(element));
}

function rowOf({ columns, key }: CopyTable, cells: ElementFields): CopyRow {
  if (cells[key] === undefined) throw otherRecords();
  return Object.fromEntries(columns.map(({ name, type }) => [name, cellOf(type, cells[name])]));
}

function fieldsOf(value: unknown): ElementFields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as ElementFields;
  throw otherRecords();
}

const IS_OF_TYPE: Readonly<Record<ColumnType, (value: unknown) => boolean>> = {
  integer: (value) => typeof value === 'string' && /^-?\d{1,19}$/.test(value),
  text: (value) => typeof value === 'string',
  instant: (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value)),
  texts: (value) => Array.isArray(value) && value.every((text) => typeof text === 'string'),
};

function cellOf(type: ColumnType, value: unknown): CopyRow[string] {
  if (value === undefined || value === null) return null;
  if (IS_OF_TYPE[type](value)) return value as CopyRow[string];
  throw otherRecords();
}

/** Values by which a change set removes events. */
export function valuesOf(type: ColumnType, values: readonly unknown[]): readonly string[] {
  return values.map((value) => {
    if (typeof value === 'string' && cellOf(type, value) !== null) return value;
    throw otherRecords();
  });
}

function otherRecords(): AppError {
  return new AppError(
    'source-refused',
    'The server sends records that are not those of Corkboard. Check the URL, and the versions of both.',
  );
}
