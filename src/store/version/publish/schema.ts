/**
 * The tables of a version file: one published version in one DuckDB file, made from the description
 * in `version-tables.ts`. Rows refer to each other by `ix`, a dense 32-bit index in the order of
 * first import, so that an event is a row of small integers. Instants are milliseconds since 1970
 * in UTC. "revised" is the sequence at which a record got its present values (decision 19); so are
 * the other clocks of users (`user-clocks.ts`). `layout.ts` keeps the rows of the large tables
 * mostly in order.
 */
import type { DuckDBValue } from '@duckdb/node-api';
import { AppError } from '../../../domain/app-error.ts';
import { LATER_USER_CLOCKS } from '../../../domain/user-clocks.ts';
import { type CopiedTable, quoted, TABLE_NAMES, type Type, VERSION_TABLES } from '../../version-tables.ts';
import { MISSING_STANDINGS } from './points-tables.ts';

/** Increment on every change of the schema. */
export const FORMAT = 11;
/** The earliest format that can be read. The next publication upgrades the file to `FORMAT`. */
const EARLIEST_FORMAT = 3;
/** The format that added the other clocks of users. */
const FORMAT_OF_CLOCKS = 4;
/** The format that added deleted events and the history of publications. */
const FORMAT_OF_HISTORY = 7;
/** The format that tells which users on which boards the latest publications have changed. */
const FORMAT_OF_CHANGES = 9;

/** The first format whose files always have digests beside them in a data folder. */
export const FORMAT_OF_DIGESTS = 11;

const commentOf = (format: number) => `Corkboard generation, format ${format}`;

const TYPES: Readonly<Record<Type, string | undefined>> = {
  ...{ int4: 'INTEGER', 'int4?': 'INTEGER', int8: 'BIGINT', 'int8?': 'BIGINT', bool: 'BOOLEAN' },
  ...{ text: 'VARCHAR', 'text?': 'VARCHAR', list: 'VARCHAR', place: undefined },
};

function createTable(name: string, columns: Readonly<Record<string, Type>>): string {
  const listed = Object.entries(columns).flatMap(([column, type]) =>
    TYPES[type] === undefined ? [] : [`${quoted(column)} ${TYPES[type]}`],
  );
  return `CREATE TABLE ${name} (${listed.join(', ')});`;
}

const { publication: _publication, id: _id, body: _body, ...ORDERED_EVENTS } = VERSION_TABLES.events.columns;

const HISTORY = `
-- Events that were deleted, for clients that keep a copy (decision 82). "deleted" is the sequence of
-- the deletion. Boards and users have their ids, because they may have been deleted as well.
CREATE TABLE deleted_events (
  sequence BIGINT, deleted BIGINT, board_id BIGINT, actor_id BIGINT, owner_id BIGINT, has_pin BOOLEAN,
  timestamp_ms BIGINT
);
-- All publications up to this version (decision 83); "about" is JSON.
CREATE TABLE publications (publication INTEGER, version VARCHAR, published_ms BIGINT, about VARCHAR);`;

const VERSION_CHANGES = `
-- What the latest publications have changed (decision 47): each from the version "before", whether
-- users or their LMS properties, and the number of its rows in the next two tables; null: none are
-- listed there, and all may have changed.
CREATE TABLE version_changes (
  version VARCHAR, before VARCHAR, last_sequence BIGINT, has_users BOOLEAN, pairs INTEGER, entries INTEGER
);
-- The users on boards that these publications may have changed, as they were afterwards: whether
-- they are in "board_people", and their points total if they have one.
CREATE TABLE changed_pairs (
  last_sequence BIGINT, board INTEGER, person INTEGER, on_board BOOLEAN, total_points BIGINT,
  participation_score BIGINT, imported BOOLEAN
);
-- All that these users had earned on these boards.
CREATE TABLE changed_earnings (
  last_sequence BIGINT, board INTEGER, person INTEGER, timestamp_ms BIGINT, points BIGINT
);`;

export const GENERATION_SCHEMA = `
CREATE TABLE version (
  version VARCHAR, published_ms BIGINT, publication INTEGER, last_sequence BIGINT,
  organization_id BIGINT, title VARCHAR, domain VARCHAR, category_id BIGINT,
  course_lookup BOOLEAN, lms_user_properties VARCHAR, user_points_key VARCHAR, policy VARCHAR,
  organization_digest VARCHAR
);
COMMENT ON TABLE version IS '${commentOf(FORMAT)}';
${TABLE_NAMES.map((table) => createTable(table, VERSION_TABLES[table].columns)).join('\n')}
-- The same events once more, in the order of boards and of actors (see layout.ts).
${createTable('board_events', ORDERED_EVENTS)}
${createTable('actor_events', ORDERED_EVENTS)}
-- Rows that were appended to a table without continuing its order.
CREATE TABLE out_of_order (name VARCHAR, rows BIGINT);
${HISTORY}
${VERSION_CHANGES}
`;

interface Added {
  /** The first format with the columns. */
  readonly format: number;
  readonly table: CopiedTable | 'version';
  readonly type: 'BIGINT' | 'VARCHAR';
  /** Each with its value in rows of earlier formats, in SQL. */
  readonly columns: Readonly<Record<string, string>>;
}

/** The value of a column that earlier rows do not have. */
const NOTHING = 'NULL::VARCHAR';

/** Columns that formats added to tables. */
const ADDED: readonly Added[] = [
  {
    ...{ format: FORMAT_OF_CLOCKS, table: 'users', type: 'BIGINT' },
    // Earlier changes count for all clocks, because the changed fields are not known.
    columns: Object.fromEntries(LATER_USER_CLOCKS.map((clock) => [clock, 'revised'])),
  },
  {
    ...{ format: 5, table: 'version', type: 'VARCHAR' },
    columns: { user_points_key: "'user-id'" },
  },
  { format: 10, table: 'events', type: 'VARCHAR', columns: { body: NOTHING } },
  { format: 11, table: 'version', type: 'VARCHAR', columns: { organization_digest: NOTHING } },
];

/** Other statements that upgrade a format to the next one, by the earlier format. */
const STEPS: Readonly<Record<number, string>> = {
  // Users who were paid without acting had no points total.
  5: `INSERT INTO standings ${MISSING_STANDINGS};`,
  6: HISTORY,
  // Format 8 listed the changed boards alone.
  8: `DROP TABLE IF EXISTS version_changes; ${VERSION_CHANGES}`,
};

/**
 * Statements that upgrade the tables of a version file to the present format; none if they have it.
 */
export function bringUpToDate(format: number): readonly string[] {
  const formats = Array.from({ length: FORMAT - format }, (_, step) => format + step);
  const steps = formats.flatMap((each) => [...addedBy(each + 1), STEPS[each] ?? []].flat());
  return steps.length === 0 ? [] : [...steps, `COMMENT ON TABLE version IS '${commentOf(FORMAT)}';`];
}

function addedBy(format: number): readonly string[] {
  return ADDED.filter((added) => added.format === format).flatMap(({ table, type, columns }) =>
    Object.entries(columns).flatMap(([column, value]) => [
      `ALTER TABLE ${table} ADD COLUMN ${column} ${type}`,
      // The new column is null in all rows, of which there can be a hundred million.
      ...(value === NOTHING ? [] : [`UPDATE ${table} SET ${column} = ${value}`]),
    ]),
  );
}

/** Whether users have a clock for each kind of redaction, and not only `revised`. */
export function hasClocks(format: number): boolean {
  return format >= FORMAT_OF_CLOCKS;
}

/** Whether a file has deleted events and the history of publications. */
export function hasHistory(format: number): boolean {
  return format >= FORMAT_OF_HISTORY;
}

/** Whether a file tells which users on which boards publications have changed. */
export function hasChanges(format: number): boolean {
  return format >= FORMAT_OF_CHANGES;
}

/**
 * A table of a file of the given format, with the columns of the present format. `file`: the name
 * of a file that is attached to the connection; absent: the one that is open.
 */
export function tableOf(table: CopiedTable | 'version', format: number, file?: string): string {
  const name = file === undefined ? table : `${file}.${table}`;
  const lacking = ADDED.filter((added) => added.table === table && added.format > format)
    .flatMap(({ columns }) => Object.entries(columns))
    .map(([column, value]) => `${value} AS ${column}`);
  return lacking.length === 0 ? name : `(SELECT *, ${lacking.join(', ')} FROM ${name})`;
}

/**
 * Throws `data-unreadable` when this version of Corkboard cannot read the format of the file.
 * `file`: as for `tableOf`.
 */
export async function readFormat(
  ask: (sql: string) => Promise<DuckDBValue[][]>,
  file?: string,
): Promise<number> {
  const within = file === undefined ? 'current_database()' : `'${file}'`;
  const [row] = await ask(
    `SELECT comment FROM duckdb_tables() WHERE table_name = 'version' AND database_name = ${within}`,
  );
  for (let format = FORMAT; format >= EARLIEST_FORMAT; format--) {
    if (row?.[0] === commentOf(format)) return format;
  }
  throw new AppError(
    'data-unreadable',
    'The published data was written by a different version of Corkboard, in a format that this version cannot read. ' +
      'Import it again into a new data folder, or use the version that wrote it.',
  );
}
