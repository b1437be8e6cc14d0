/**
 * The tables of a copy, the same in every target. Events have the columns that they have as CSV and
 * Parquet, and `sync_id`. Users and boards have the fields of both variants; those that the variant
 * of the server lacks are null. Points have those of the route for them (decision 93).
 */
import { FIELD_NOTES } from '../domain/field-notes.ts';
import { isStorable, isSyncId, LONGEST_EMAIL } from '../domain/record-text.ts';
import { EVENT_SECTIONS, LIST_FIELDS, POINTS_FIELDS, POINTS_NUMBERS } from '../render/text/fields.ts';

/** `integer` has 64 bits; `texts` is a list of texts. */
export type ColumnType = 'integer' | 'text' | 'instant' | 'texts';

export interface CopyColumn {
  readonly name: string;
  readonly type: ColumnType;
  readonly note: string;
  /** Whether a text can be in the column; absent: any that can be stored. */
  readonly accepts?: (text: string) => boolean;
}

/** The tables that are read as a whole. */
export type CopyList = 'users' | 'boards' | 'points';

export interface CopyTable<Name extends string = 'events' | CopyList> {
  readonly name: Name;
  readonly note: string;
  /** The columns that identify a row. Rows are ordered by them where they are. */
  readonly key: readonly string[];
  readonly columns: readonly CopyColumn[];
  /** The columns by which rows are mostly looked for. */
  readonly indexed: readonly string[];
}

/** Integers are decimal digits, instants ISO 8601 in UTC. */
export type CopyCell = string | readonly string[] | null;

/** In the order of the columns. */
export type CopyRow = readonly CopyCell[];

const TYPES: Readonly<Record<string, ColumnType>> = {
  id: 'integer',
  category_id: 'integer',
  tags: 'texts',
  timestamp: 'instant',
};

function columnOf(prefix: string, field: string, notes: Readonly<Record<string, string>>): CopyColumn {
  const column: CopyColumn = { name: prefix + field, type: TYPES[field] ?? 'text', note: notes[field] ?? '' };
  // An index of PostgreSQL cannot have longer ones than a few thousand bytes.
  return field === 'email' ? { ...column, accepts: isAddress } : column;
}

function isAddress(text: string): boolean {
  return text.length <= LONGEST_EMAIL && isStorable(text);
}

const { event, person, organization, pin, board, user, points } = FIELD_NOTES;
const SECTION_NOTES = { kind: event, owner: person, actor: person, organization, pin, activity: pin, board };

export const EVENTS: CopyTable<'events'> = {
  name: 'events',
  note: 'What users have done, with the current names of users, boards and pins.',
  key: ['sync_id'],
  columns: [
    {
      name: 'sync_id',
      type: 'text',
      note: 'Identifies the event, even if its other columns change.',
      accepts: isSyncId,
    },
    ...EVENT_SECTIONS.flatMap(({ of, prefix, fields }) =>
      fields.map((field) => columnOf(prefix, field, SECTION_NOTES[of])),
    ),
    columnOf('', 'timestamp', event),
  ],
  indexed: ['timestamp', 'board_id', 'actor_id'],
};

export const USERS: CopyTable<'users'> = {
  name: 'users',
  note: 'The users of the organization.',
  key: ['id'],
  columns: bothVariants('users', user),
  indexed: ['email'],
};

export const BOARDS: CopyTable<'boards'> = {
  name: 'boards',
  note: 'The boards of the organization.',
  key: ['id'],
  columns: bothVariants('boards', board),
  indexed: [],
};

export const POINTS: CopyTable<'points'> = {
  name: 'points',
  note: 'Points of users on boards, of all time, as of the events in this copy.',
  key: ['board_id', 'user_id'],
  columns: [
    ...columnsOfPoints(POINTS_FIELDS.users, user),
    ...columnsOfPoints(POINTS_FIELDS.boards, board),
    ...POINTS_NUMBERS.map((name): CopyColumn => ({ name, type: 'integer', note: points[name] })),
  ],
  indexed: ['user_id'],
};

export const LISTS: readonly CopyTable<CopyList>[] = [USERS, BOARDS, POINTS];
export const TABLES: readonly CopyTable[] = [EVENTS, ...LISTS];

/** The key of each row as a text; different for different keys. */
export function keyReader({ columns, key }: CopyTable): (row: CopyRow) => string {
  const places = key.map((name) => columns.findIndex((column) => column.name === name));
  const [first = 0] = places;
  if (places.length === 1) return (row) => String(row[first]);
  // Only numbers are parts of a key.
  return (row) => places.map((at) => row[at]).join(' ');
}

/** `fields`: the fields that columns show, by the names of the columns. */
function columnsOfPoints(
  fields: Readonly<Record<string, string>>,
  notes: Readonly<Record<string, string>>,
): CopyColumn[] {
  return Object.entries(fields).map(([name, field]) => ({ ...columnOf('', field, notes), name }));
}

function bothVariants(of: keyof typeof LIST_FIELDS, notes: Readonly<Record<string, string>>): CopyColumn[] {
  const fields = new Set<string>([...LIST_FIELDS[of].b, ...LIST_FIELDS[of].a]);
  return [...fields].map((field) => columnOf('', field, notes));
}
