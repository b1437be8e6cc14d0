/**
 * The tables of a generation: one published version in one DuckDB file. Things refer to each other
 * by `ix`, a dense 32-bit index in the order of first import, so that an event is a row of small
 * integers. Instants are milliseconds since 1970 in UTC; "revised" is the sequence from which on a
 * thing has its present words (decision 19), as are the other clocks of users (`user-clocks.ts`).
 * Rows of the large tables lie in order, as far as `layout.ts` keeps it.
 */
import type { DuckDBValue } from '@duckdb/node-api';
import { AppError } from '../../app-error.ts';
import { LATER_USER_CLOCKS } from '../user-clocks.ts';
import { MISSING_STANDINGS } from './points-tables.ts';

/** Increment on every change of the schema. */
const FORMAT = 6;
/** Earlier formats from this one on are read, and brought up to date by the next publication. */
const EARLIEST_FORMAT = 3;
/** The format from which on users have all their clocks. */
const FORMAT_OF_CLOCKS = 4;
/** The format from which on the table `version` has its present columns. */
const FORMAT_OF_POINTS_KEY = 5;

const commentOf = (format: number) => `Corkboard generation, format ${format}`;

export const GENERATION_SCHEMA = `
CREATE TABLE version (
  version VARCHAR, published_ms BIGINT, publication INTEGER, last_sequence BIGINT,
  organization_id BIGINT, title VARCHAR, domain VARCHAR, category_id BIGINT,
  course_lookup BOOLEAN, lms_user_properties VARCHAR, user_points_key VARCHAR, policy VARCHAR
);
COMMENT ON TABLE version IS '${commentOf(FORMAT)}';
CREATE TABLE users (
  ix INTEGER, id BIGINT, email VARCHAR, name VARCHAR, first_name VARCHAR, last_name VARCHAR,
  role VARCHAR, class_role VARCHAR, created_ms BIGINT, forgotten BOOLEAN, revised BIGINT,
  ${LATER_USER_CLOCKS.map((clock) => `${clock} BIGINT`).join(', ')}
);
CREATE TABLE user_properties (person INTEGER, property VARCHAR, value VARCHAR);
CREATE TABLE boards (
  ix INTEGER, id BIGINT, title VARCHAR, category VARCHAR, lti_id VARCHAR, course_id VARCHAR, created_ms BIGINT,
  revised BIGINT
);
CREATE TABLE pins (
  ix INTEGER, id BIGINT, board INTEGER, "owner" INTEGER, title VARCHAR, body VARCHAR, web_url VARCHAR,
  image_url VARCHAR, tags VARCHAR, created_ms BIGINT, revised BIGINT
);
CREATE TABLE kinds (ix INTEGER, type VARCHAR, action VARCHAR);
-- "sequence" is the order of import, "publication" the version that brought the event.
CREATE TABLE events (
  sequence BIGINT, publication INTEGER, id BIGINT, kind INTEGER, actor INTEGER, "owner" INTEGER, board INTEGER,
  pin INTEGER, timestamp_ms BIGINT
);
-- The same events once more, in the order of boards and of actors (see layout.ts).
CREATE TABLE board_events (
  sequence BIGINT, kind INTEGER, actor INTEGER, "owner" INTEGER, board INTEGER, pin INTEGER, timestamp_ms BIGINT
);
CREATE TABLE actor_events (
  sequence BIGINT, kind INTEGER, actor INTEGER, "owner" INTEGER, board INTEGER, pin INTEGER, timestamp_ms BIGINT
);
CREATE TABLE memberships (board INTEGER, person INTEGER);
CREATE TABLE imported_points (board INTEGER, person INTEGER, total_points BIGINT, participation_score BIGINT);
CREATE TABLE adjustments (board INTEGER, person INTEGER, points BIGINT, timestamp_ms BIGINT, reason VARCHAR);

-- On which boards somebody was who was forgotten.
CREATE TABLE forgotten_boards (board INTEGER, person INTEGER);

-- Derived from the above at publication.
CREATE TABLE user_created (ix INTEGER, created_ms BIGINT);
CREATE TABLE board_created (ix INTEGER, created_ms BIGINT);
-- Everybody who acts or owns on a board, is or was on it; "present" is decision 10.
CREATE TABLE board_people (board INTEGER, person INTEGER, present BOOLEAN);
CREATE TABLE policies (
  policy INTEGER, goal BIGINT, weekly_maximum BIGINT, percent BOOLEAN, from_ms BIGINT, until_ms BIGINT
);
CREATE TABLE board_policies (board INTEGER, policy INTEGER);
CREATE TABLE awards (
  board INTEGER, person INTEGER, sequence BIGINT, timestamp_ms BIGINT, rule INTEGER, points BIGINT,
  outcome VARCHAR, week_ms BIGINT
);
CREATE TABLE standings (board INTEGER, person INTEGER, total_points BIGINT, participation_score BIGINT);

-- Rows that were appended to a table without continuing its order.
CREATE TABLE out_of_order (name VARCHAR, rows BIGINT);
`;

/** What each format added, by the format before it. */
const STEPS: Readonly<Record<number, string>> = {
  // Earlier changes count for all clocks of users, because it is not known which fields they were
  // about.
  3: `
    ${LATER_USER_CLOCKS.map((clock) => `ALTER TABLE users ADD COLUMN ${clock} BIGINT;`).join('\n')}
    UPDATE users SET ${LATER_USER_CLOCKS.map((clock) => `${clock} = revised`).join(', ')};`,
  4: "ALTER TABLE version ADD COLUMN user_points_key VARCHAR DEFAULT 'user-id';",
  // Who was paid without acting had no standing.
  5: `INSERT INTO standings ${MISSING_STANDINGS};`,
};

/** Statements that make the tables of a generation those of the present format; none if they are. */
export function bringUpToDate(format: number): readonly string[] {
  const formats = Array.from({ length: FORMAT - format }, (_, step) => format + step);
  const steps = formats.flatMap((each) => STEPS[each] ?? []);
  return steps.length === 0 ? [] : [...steps, `COMMENT ON TABLE version IS '${commentOf(FORMAT)}';`];
}

/** Whether users have a clock for each way to redact them, and not only `revised`. */
export function hasClocks(format: number): boolean {
  return format >= FORMAT_OF_CLOCKS;
}

/** The table `version` with the columns of the present format. */
export function versionTable(format: number): string {
  return format >= FORMAT_OF_POINTS_KEY ? 'version' : "(SELECT *, 'user-id' AS user_points_key FROM version)";
}

/** Throws `data-unreadable` when a generation was written by a version of Corkboard whose tables were others. */
export async function readFormat(ask: (sql: string) => Promise<DuckDBValue[][]>): Promise<number> {
  const [row] = await ask("SELECT comment FROM duckdb_tables() WHERE table_name = 'version'");
  for (let format = FORMAT; format >= EARLIEST_FORMAT; format--) {
    if (row?.[0] === commentOf(format)) return format;
  }
  throw new AppError(
    'data-unreadable',
    'The published data was written by another version of Corkboard, in a form that this one does not read. ' +
      'Import it again into a new data folder, or use the version that wrote it.',
  );
}
