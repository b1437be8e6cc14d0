/** From the elements of responses to rows of a copy. Throws `source-refused` for other records. */
import { AppError } from '../domain/app-error.ts';
import { parseIdentifier } from '../domain/identifier.ts';
import { formatInstant, parseDateTime } from '../domain/instant.ts';
import { isStorable } from '../domain/record-text.ts';
import { EVENT_SECTIONS } from '../render/text/fields.ts';
import { type CopyCell, type CopyColumn, type CopyRow, type CopyTable, EVENTS } from './tables.ts';

type ElementFields = Readonly<Record<string, unknown>>;

/** Where a cell comes from, in the order of the columns. */
interface CellSource {
  /** The member of the event that has the field; undefined: the event itself. */
  readonly section: string | undefined;
  readonly field: string;
}

const SECTION_MEMBERS = {
  ...{ kind: undefined, activity: 'pin' },
  ...{ owner: 'owner', actor: 'actor', organization: 'organization', pin: 'pin', board: 'board' },
} as const;

const EVENT_CELLS: readonly CellSource[] = [
  ...EVENTS.key.map((field) => ({ section: undefined, field })),
  ...EVENT_SECTIONS.flatMap(({ of, fields }) =>
    fields.map((field) => ({ section: SECTION_MEMBERS[of], field })),
  ),
  { section: undefined, field: 'timestamp' },
];

/** `element`: an event of a change set. */
export function eventRow(element: unknown): CopyRow {
  const event = fieldsOf(element);
  return rowOf(EVENTS, (at) => {
    const { section, field } = EVENT_CELLS[at]!;
    if (section === undefined) return event[field];
    const from = event[section];
    return from === undefined ? undefined : fieldsOf(from)[field];
  });
}

export function listRow(table: CopyTable, element: unknown): CopyRow {
  const fields = fieldsOf(element);
  return rowOf(table, (at) => fields[table.columns[at]!.name]);
}

function rowOf(table: CopyTable, valueAt: (at: number) => unknown): CopyRow {
  const { columns, key } = table;
  const row: CopyCell[] = [];
  for (let at = 0; at < columns.length; at += 1) {
    const column = columns[at]!;
    const cell = cellOf(column, valueAt(at));
    // An event without a time belongs to no month.
    const isRequired = key.includes(column.name) || column.type === 'instant';
    if (cell === undefined || (cell === null && isRequired)) throw otherRecords(table, column);
    row.push(cell);
  }
  return row;
}

function fieldsOf(value: unknown): ElementFields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as ElementFields;
  throw otherRecords();
}

/** Values by which a change set removes events: those of one column. */
export function valuesOf(name: string, values: readonly unknown[]): readonly string[] {
  const column = EVENTS.columns.find((one) => one.name === name)!;
  return values.map((value) => {
    const cell = typeof value === 'string' ? cellOf(column, value) : undefined;
    if (typeof cell === 'string') return cell;
    throw otherRecords(EVENTS, column);
  });
}

/** In the form that all targets accept. Undefined for a value that the column cannot have. */
function cellOf({ type, accepts = isStorable }: CopyColumn, value: unknown): CopyCell | undefined {
  if (value === undefined || value === null) return null;
  switch (type) {
    case 'text':
      return typeof value === 'string' && accepts(value) ? value : undefined;
    case 'texts':
      return isTexts(value) && value.every(accepts) ? value : undefined;
    case 'integer':
      return integerOf(value);
    case 'instant':
      return instantOf(value);
  }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}

/** Identifiers are digits, other integers are numbers. */
function integerOf(value: unknown): string | undefined {
  if (Number.isSafeInteger(value)) return String(value);
  if (typeof value !== 'string') return undefined;
  return USUAL_INTEGER.test(value) ? value : parseIdentifier(value)?.toString();
}

function instantOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const instantMs = parseDateTime(value);
  if (instantMs === undefined) return undefined;
  return USUAL_INSTANT.test(value) ? value : formatInstant(instantMs);
}

/** Values as Corkboard writes them, which stay as they are. Others take more time. */
const USUAL_INTEGER = /^[1-9]\d{0,17}$/;
const USUAL_INSTANT = /^[-\d]{10}T[:\d]{8}\.\d{3}\+00:00$/;

function otherRecords(table?: CopyTable, column?: CopyColumn): AppError {
  const where = table && column ? ` ("${column.name}" of ${table.name})` : '';
  return new AppError(
    'source-refused',
    `The server sends records that are not those of Corkboard${where}. Check the URL, and the versions of both.`,
  );
}
