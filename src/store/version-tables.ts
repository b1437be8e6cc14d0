/**
 * The single description of the tables of a version: tables of records, and tables derived from
 * them. The DuckDB schema, the columns that a merge replaces, and the row formats of bundles and of
 * copies from version 0.1 follow from it. Version 0.1 had the same tables in PostgreSQL, so the SQL
 * here is valid in both DuckDB and PostgreSQL.
 */

import { RECORDS } from '../dataset/records.ts';
import type { RecordKind } from './staging.ts';

/**
 * A question mark: the value can be missing. `list`: a JSON array as text. `place`: the row number;
 * it has no column of its own where the rows are in the order of import.
 */
export type Type = 'int4' | 'int4?' | 'int8' | 'int8?' | 'text' | 'text?' | 'list' | 'bool' | 'place';

interface Table {
  /**
   * In tables of users, boards and pins: `ix` and `id`, then the fields of records, then clocks.
   */
  readonly columns: Readonly<Record<string, Type>>;
  /** The order in which rows are written, copied and later read. */
  readonly order: string;
}

const PAIR = { board: 'int4', person: 'int4' } as const;
const FIGURES = { ...PAIR, total_points: 'int8', participation_score: 'int8' } as const;

const STORED: Readonly<Record<string, Type>> = { id: 'int8', text: 'text', list: 'list', instant: 'int8?' };

/** Columns that responses read as they are stored; flags are computed when they are read. */
function stored(columns: (typeof RECORDS)['users' | 'boards']): Readonly<Record<string, Type>> {
  const found = Object.entries(columns).map(([name, kind]) => [name, STORED[kind]] as const);
  return Object.fromEntries(found.filter((column): column is [string, Type] => column[1] !== undefined));
}

export const VERSION_TABLES = {
  users: {
    columns: {
      ...{ ix: 'int4', ...stored(RECORDS.users), forgotten: 'bool', revised: 'int8' },
      ...{ revised_but_email: 'int8', revised_but_name: 'int8', revised_but_both: 'int8' },
    },
    order: 'ix',
  },
  user_properties: {
    columns: { person: 'int4', property: 'text', value: 'text' },
    order: 'person, property',
  },
  boards: {
    columns: { ix: 'int4', ...stored(RECORDS.boards), revised: 'int8' },
    order: 'ix',
  },
  pins: {
    columns: {
      ...{ ix: 'int4', id: 'int8', board: 'int4?', owner: 'int4?', title: 'text', body: 'text' },
      ...{ web_url: 'text', image_url: 'text', tags: 'list', created_ms: 'int8?', revised: 'int8' },
    },
    order: 'ix',
  },
  kinds: { columns: { ix: 'int4', type: 'text', action: 'text' }, order: 'ix' },
  // "sequence" is the order of import, "publication" the version that added the event, "body" what
  // the actor wrote, for example a comment.
  events: {
    columns: {
      ...{ sequence: 'int8', publication: 'int4', id: 'int8?', kind: 'int4', actor: 'int4', owner: 'int4' },
      ...{ board: 'int4', pin: 'int4?', timestamp_ms: 'int8', body: 'text?' },
    },
    order: 'timestamp_ms, sequence',
  },
  memberships: { columns: PAIR, order: 'board, person' },
  imported_points: { columns: FIGURES, order: 'board, person' },
  adjustments: {
    columns: { ...PAIR, points: 'int8', timestamp_ms: 'int8', reason: 'text', place: 'place' },
    order: 'place',
  },
  // The boards of erased users.
  forgotten_boards: { columns: PAIR, order: 'board, person' },
  // The following tables are derived from those above at publication.
  user_created: { columns: { ix: 'int4', created_ms: 'int8?' }, order: 'ix' },
  board_created: { columns: { ix: 'int4', created_ms: 'int8?' }, order: 'ix' },
  // All users who act or own on a board, or are or were members of it; "present" is decision 10.
  board_people: { columns: { ...PAIR, present: 'bool' }, order: 'board, person' },
  policies: {
    columns: {
      ...{ policy: 'int4', goal: 'int8', weekly_maximum: 'int8?', percent: 'bool' },
      ...{ from_ms: 'int8?', until_ms: 'int8?' },
    },
    order: 'policy',
  },
  board_policies: { columns: { board: 'int4', policy: 'int4' }, order: 'board' },
  awards: {
    columns: {
      ...{ ...PAIR, sequence: 'int8', timestamp_ms: 'int8', rule: 'int4', points: 'int8', outcome: 'text' },
      week_ms: 'int8?',
    },
    order: 'board, person, timestamp_ms, sequence, rule',
  },
  standings: { columns: FIGURES, order: 'board, person' },
} as const satisfies Readonly<Record<string, Table>>;

export type CopiedTable = keyof typeof VERSION_TABLES;

export const TABLE_NAMES = Object.keys(VERSION_TABLES) as CopiedTable[];

/** The types in which values are copied; a boolean is 0 or 1. */
export type Carrier = 'int4' | 'int8' | 'text';

const CARRIERS: Readonly<Record<Type, Carrier>> = {
  ...{ int4: 'int4', 'int4?': 'int4', bool: 'int4' },
  ...{ int8: 'int8', 'int8?': 'int8', place: 'int8' },
  ...{ text: 'text', 'text?': 'text', list: 'text' },
};
export type Carried = Int32Array | BigInt64Array | readonly string[];

export interface CopiedColumn {
  readonly name: string;
  readonly type: Carrier;
  /** The column holds booleans. */
  readonly truth: boolean;
  /** Values can be missing. */
  readonly optional: boolean;
}

/** A batch of rows as columns, in the order of the table. */
export interface CopiedRows {
  readonly count: number;
  readonly columns: readonly {
    readonly values: Carried;
    /** 0 where the value is missing. Absent if no value can be missing. */
    readonly present: Int32Array | undefined;
  }[];
}

export function columnsOf(table: CopiedTable): readonly CopiedColumn[] {
  const { columns }: Table = VERSION_TABLES[table];
  return Object.entries(columns).map(([name, type]) => ({
    name,
    type: CARRIERS[type],
    truth: type === 'bool',
    optional: type.endsWith('?'),
  }));
}

/** Tables of records that have an id. */
export type ThingTable = 'users' | 'boards' | 'pins';

/** Columns with indices of users, boards and pins, of every table that is not derived. */
export const REFERRING_COLUMNS = {
  user_properties: { person: 'users' },
  pins: { board: 'boards', owner: 'users' },
  events: { actor: 'users', owner: 'users', board: 'boards', pin: 'pins' },
  memberships: { board: 'boards', person: 'users' },
  imported_points: { board: 'boards', person: 'users' },
  adjustments: { board: 'boards', person: 'users' },
  forgotten_boards: { board: 'boards', person: 'users' },
} as const satisfies Partial<Record<CopiedTable, Readonly<Record<string, ThingTable>>>>;

/** The referring columns of a table, and the tables that they refer to. */
export function referringColumns(table: CopiedTable): Readonly<Record<string, ThingTable>> {
  const known: Partial<Record<CopiedTable, Readonly<Record<string, ThingTable>>>> = REFERRING_COLUMNS;
  return known[table] ?? {};
}

/** The table with the records of each kind. */
export const TABLE_OF = {
  ...{ users: 'users', boards: 'boards', pins: 'pins', memberships: 'memberships', events: 'events' },
  ...{ points: 'imported_points', adjustments: 'adjustments' },
} as const satisfies Readonly<Record<RecordKind, CopiedTable>>;

/**
 * The columns of a table that hold fields of records, without the id and without indices, which
 * have no meaning in a different version.
 */
export function comparableColumns(table: ThingTable): readonly string[] {
  const referring = referringColumns(table);
  return saidColumns(table).flatMap(([name]) => (name in referring ? [] : [quoted(name)]));
}

/** The columns of a table that hold fields of records, without the id. */
export function saidColumns(table: ThingTable): readonly (readonly [name: string, type: Type])[] {
  const { columns }: Table = VERSION_TABLES[table];
  const isSaid = (name: string) => name !== 'ix' && name !== 'id' && !name.startsWith('revised');
  return Object.entries(columns).filter(([name]) => isSaid(name));
}

/**
 * The columns that a later record replaces field by field (decision 29), each with its SQL default.
 */
export function mergedColumns(table: ThingTable): Readonly<Record<string, string>> {
  return Object.fromEntries(
    saidColumns(table).map(([name, type]) => [quoted(name), DEFAULTS[type] ?? 'NULL']),
  );
}

const DEFAULTS: Readonly<Partial<Record<Type, string>>> = { text: "''", list: "'[]'" };

/** Quotes a name for SQL, because some names are SQL keywords. */
export function quoted(name: string): string {
  return `"${name}"`;
}

/** The SELECT list of a table, without nulls. `types` are those of the result columns. */
export function selection(table: CopiedTable): { readonly list: string; readonly types: readonly Carrier[] } {
  const parts = columnsOf(table).map(({ name, type, truth, optional }) => {
    const column = quoted(name);
    if (truth) return { list: [`CAST(${column} AS int)`], types: [type] };
    if (!optional) return { list: [column], types: [type] };
    const present = `CASE WHEN ${column} IS NULL THEN 0 ELSE 1 END`;
    const absent = type === 'text' ? "''" : '0';
    return { list: [`coalesce(${column}, ${absent})`, present], types: [type, 'int4' as const] };
  });
  return {
    list: parts.flatMap(({ list }) => list).join(', '),
    types: parts.flatMap(({ types }) => types),
  };
}

/** Converts the result columns of `selection` into rows of the table. */
export function copiedRows(table: CopiedTable, count: number, answer: readonly Carried[]): CopiedRows {
  let at = 0;
  const columns = columnsOf(table).map(({ optional }) => {
    const values = answer[at]!;
    const present = optional ? (answer[at + 1] as Int32Array) : undefined;
    at += optional ? 2 : 1;
    return { values, present };
  });
  return { count, columns };
}
