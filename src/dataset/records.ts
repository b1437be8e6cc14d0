/**
 * The resources of the contract (section 2) as a dataset holds them. An index (32-bit, dense, from
 * 0) identifies a user, board, pin or kind inside one version. Later versions of the same store
 * keep the indices and append new ones, unless records were deleted. In a different store they have
 * no meaning.
 */
import { joinDoubles, joinFlags, joinIds } from './columns.ts';
import { TextColumn } from './text-column.ts';

export interface Organization {
  readonly id: bigint;
  /** The `name` of the organization in the API. */
  readonly title: string;
  readonly domain: string;
  readonly categoryId: bigint;
}

export function areSameOrganization(one: Organization, other: Organization): boolean {
  return (
    one.id === other.id &&
    one.title === other.title &&
    one.domain === other.domain &&
    one.categoryId === other.categoryId
  );
}

/**
 * Kind of an event: the type of its object and the action. The type `pin` means that the event has
 * a pin.
 */
export interface EventKind {
  readonly type: string;
  readonly action: string;
}

/**
 * The content of a column. `list`: texts, as a JSON array. `instant`: Unix milliseconds, NaN if
 * there is none.
 */
interface Columns {
  readonly id: BigInt64Array;
  readonly text: TextColumn;
  readonly list: TextColumn;
  readonly instant: Float64Array;
  /** 1 for true. */
  readonly flag: Uint8Array;
}

type ColumnKind = keyof Columns;

/**
 * The columns of each record that are read for responses, named as in the tables of a version and
 * in the API.
 */
export const RECORDS = {
  users: {
    ...{ id: 'id', email: 'text', name: 'text', first_name: 'text', last_name: 'text' },
    ...{ role: 'text', class_role: 'text', created_ms: 'instant' },
    /**
     * Whether the name reveals the address, the id, or the source of either (`derived-name.ts`).
     */
    name_is_derived: 'flag',
  },
  boards: {
    ...{ id: 'id', title: 'text', category: 'text', lti_id: 'text', course_id: 'text' },
    created_ms: 'instant',
  },
  pins: {
    ...{ id: 'id', title: 'text', body: 'text', web_url: 'text', image_url: 'text', tags: 'list' },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, ColumnKind>>>>;

export type RecordTable = keyof typeof RECORDS;

/** Records in the order of their indices, column by column. */
export type RecordColumns<T extends RecordTable> = {
  readonly [Name in keyof (typeof RECORDS)[T]]: Columns[(typeof RECORDS)[T][Name] & ColumnKind];
};

export type Users = RecordColumns<'users'>;
export type Boards = RecordColumns<'boards'>;
export type Pins = RecordColumns<'pins'>;

/**
 * Joins the records of all batches. If there are several, ids and texts are copied to shared
 * memory.
 */
export async function joinRecords<T extends RecordTable>(
  table: T,
  runs: AsyncIterable<RecordColumns<T>>,
): Promise<RecordColumns<T>> {
  const parts: Readonly<Record<string, unknown>>[] = [];
  for await (const run of runs) parts.push(run);
  if (parts.length === 1) return parts[0] as RecordColumns<T>;
  return await makeRecords(table, async (name, kind) => {
    const columns = parts.map((part) => part[name]);
    return await JOIN[kind](columns as never);
  });
}

const JOIN: {
  readonly [Kind in ColumnKind]: (parts: readonly Columns[Kind][]) => Promise<Columns[Kind]>;
} = {
  id: joinIds,
  text: (parts) => TextColumn.join(parts, false),
  list: (parts) => TextColumn.join(parts, true),
  instant: joinDoubles,
  flag: joinFlags,
};

/** Makes the columns of records one after the other. */
export async function makeRecords<T extends RecordTable>(
  table: T,
  make: (name: string, kind: ColumnKind) => Promise<Columns[ColumnKind]>,
): Promise<RecordColumns<T>> {
  const columns: Record<string, Columns[ColumnKind]> = {};
  for (const [name, kind] of Object.entries(RECORDS[table])) columns[name] = await make(name, kind);
  return columns as RecordColumns<T>;
}
