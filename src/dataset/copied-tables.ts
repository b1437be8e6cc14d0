/**
 * The tables of a version that are read row by row, for bundles and for copies of version 0.1: those of records and
 * those that follow from them, and how their rows travel. Version 0.1 had the same tables in PostgreSQL, so the SQL
 * here is what DuckDB and PostgreSQL read alike.
 */

/** A question mark: the value can be missing. */
type Type = 'int4' | 'int4?' | 'int8' | 'int8?' | 'text' | 'bool';

interface Table {
  readonly columns: Readonly<Record<string, Type>>;
  /** In which the rows travel, and are written: that in which they are read later. */
  readonly order: string;
}

const PAIR = { board: 'int4', person: 'int4' } as const;
const FIGURES = { ...PAIR, total_points: 'int8', participation_score: 'int8' } as const;

export const COPIED_TABLES = {
  users: {
    columns: {
      ...{ ix: 'int4', id: 'int8', email: 'text', name: 'text', first_name: 'text', last_name: 'text' },
      ...{ role: 'text', class_role: 'text', created_ms: 'int8?', forgotten: 'bool', revised: 'int8' },
      ...{ revised_but_email: 'int8', revised_but_name: 'int8', revised_but_both: 'int8' },
    },
    order: 'ix',
  },
  user_properties: {
    columns: { person: 'int4', property: 'text', value: 'text' },
    order: 'person, property',
  },
  boards: {
    columns: {
      ...{ ix: 'int4', id: 'int8', title: 'text', category: 'text', lti_id: 'text', course_id: 'text' },
      ...{ created_ms: 'int8?', revised: 'int8' },
    },
    order: 'ix',
  },
  pins: {
    columns: {
      ...{ ix: 'int4', id: 'int8', board: 'int4?', owner: 'int4?', title: 'text', body: 'text' },
      ...{ web_url: 'text', image_url: 'text', tags: 'text', created_ms: 'int8?', revised: 'int8' },
    },
    order: 'ix',
  },
  kinds: { columns: { ix: 'int4', type: 'text', action: 'text' }, order: 'ix' },
  events: {
    columns: {
      ...{ sequence: 'int8', publication: 'int4', id: 'int8?', kind: 'int4', actor: 'int4', owner: 'int4' },
      ...{ board: 'int4', pin: 'int4?', timestamp_ms: 'int8' },
    },
    order: 'timestamp_ms, sequence',
  },
  memberships: { columns: PAIR, order: 'board, person' },
  imported_points: { columns: FIGURES, order: 'board, person' },
  // Where the order of import is that of the rows, "place" is their number.
  adjustments: {
    columns: { ...PAIR, points: 'int8', timestamp_ms: 'int8', reason: 'text', place: 'int8' },
    order: 'place',
  },
  forgotten_boards: { columns: PAIR, order: 'board, person' },
  user_created: { columns: { ix: 'int4', created_ms: 'int8?' }, order: 'ix' },
  board_created: { columns: { ix: 'int4', created_ms: 'int8?' }, order: 'ix' },
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

export type CopiedTable = keyof typeof COPIED_TABLES;

export const COPIED_NAMES = Object.keys(COPIED_TABLES) as CopiedTable[];

/** How values travel; a truth value as 0 or 1. */
export type Carrier = 'int4' | 'int8' | 'text';
export type Carried = Int32Array | BigInt64Array | readonly string[];

export interface CopiedColumn {
  readonly name: string;
  readonly type: Carrier;
  /** The column holds truth values. */
  readonly truth: boolean;
  /** Values can be missing. */
  readonly optional: boolean;
}

/** A run of rows as columns, in the order of the table. */
export interface CopiedRows {
  readonly count: number;
  readonly columns: readonly {
    readonly values: Carried;
    /** 0 where the value is missing; absent where none can be. */
    readonly present: Int32Array | undefined;
  }[];
}

export function columnsOf(table: CopiedTable): readonly CopiedColumn[] {
  const { columns }: Table = COPIED_TABLES[table];
  return Object.entries(columns).map(([name, type]) => ({
    name,
    type: type === 'bool' ? 'int4' : (type.replace('?', '') as Carrier),
    truth: type === 'bool',
    optional: type.endsWith('?'),
  }));
}

/** A name as SQL: some are words of the language. */
function quoted(name: string): string {
  return `"${name}"`;
}

/** What to select of a table, without nulls; `types` are those of the columns of the answer. */
export function selection(table: CopiedTable): { readonly list: string; readonly types: readonly Carrier[] } {
  const parts = columnsOf(table).map(({ name, type, truth, optional }) => {
    const column = quoted(name);
    if (truth) return { list: [`CAST(${column} AS int)`], types: [type] };
    if (!optional) return { list: [column], types: [type] };
    const present = `CASE WHEN ${column} IS NULL THEN 0 ELSE 1 END`;
    return { list: [`coalesce(${column}, 0)`, present], types: [type, 'int4' as const] };
  });
  return {
    list: parts.flatMap(({ list }) => list).join(', '),
    types: parts.flatMap(({ types }) => types),
  };
}

/** The columns of an answer to `selection` as rows of the table. */
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
