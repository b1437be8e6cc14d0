/** From the elements of responses to rows of a copy. Throws `source-refused` for other records. */
import { AppError } from '../domain/app-error.ts';
import { EVENT_SECTIONS } from '../render/text/fields.ts';
import { type ColumnType, type CopyCell, type CopyRow, type CopyTable, EVENTS } from './tables.ts';

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

function rowOf({ columns, key }: CopyTable, valueAt: (at: number) => unknown): CopyRow {
  const row: CopyCell[] = [];
  for (let at = 0; at < columns.length; at += 1) {
    const { name, type } = columns[at]!;
    const cell = cellOf(type, valueAt(at));
    if (cell === null && key.includes(name)) throw otherRecords();
    row.push(cell);
  }
  return row;
}

function fieldsOf(value: unknown): ElementFields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as ElementFields;
  throw otherRecords();
}

function cellOf(type: ColumnType, value: unknown): CopyCell {
  if (value === undefined || value === null) return null;
  if (isOfType(type, value)) return value;
  // Identifiers are digits, other integers are numbers.
  if (type === 'integer' && Number.isSafeInteger(value)) return String(value);
  throw otherRecords();
}

/** Values by which a change set removes events. */
export function valuesOf(type: ColumnType, values: readonly unknown[]): readonly string[] {
  return values.map((value) => {
    if (typeof value === 'string' && cellOf(type, value) !== null) return value;
    throw otherRecords();
  });
}

function isOfType(type: ColumnType, value: unknown): value is string | readonly string[] {
  if (type === 'texts') return Array.isArray(value) && value.every((text) => typeof text === 'string');
  if (typeof value !== 'string') return false;
  if (type === 'text') return true;
  return type === 'integer' ? isInteger(value) : !Number.isNaN(Date.parse(value));
}

/** Whether it is an integer of 64 bits. */
function isInteger(text: string): boolean {
  if (/^-?\d{1,18}$/.test(text)) return true;
  return /^-?\d{19}$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text);
}

function otherRecords(): AppError {
  return new AppError(
    'source-refused',
    'The server sends records that are not those of Corkboard. Check the URL, and the versions of both.',
  );
}
