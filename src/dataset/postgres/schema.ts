/**
 * The tables of the PostgreSQL store as they were at first, and how rows belong to versions. Every table of records begins with
 * the organization, its number in this store, so that Citus can distribute by it. Things refer to each other by `ix`, a
 * dense 32-bit index in the order of first import; instants are milliseconds since 1970 in UTC.
 *
 * A row is part of the publications `born <= publication < died`. So a publication adds rows and ends others, and an
 * older version stays what it was, for the answers that are under way, on every replica, without holding a snapshot.
 */

import { FIRST_YEAR, LAST_YEAR, startOfYear } from './event-survey.ts';

/** `died` of rows that no publication has ended. */
export const ALIVE = 2_147_483_647;

const LIFE = `born INTEGER NOT NULL, died INTEGER NOT NULL DEFAULT ${ALIVE}`;

const FIRST = `
CREATE TABLE organizations (
  organization INTEGER PRIMARY KEY, name TEXT NOT NULL, id BIGINT NOT NULL, title TEXT NOT NULL, domain TEXT NOT NULL,
  category_id BIGINT NOT NULL, course_lookup BOOLEAN NOT NULL, lms_user_properties TEXT NOT NULL,
  policy TEXT NOT NULL, secret BYTEA NOT NULL, publication INTEGER, version TEXT
);
CREATE UNIQUE INDEX organizations_by_name ON organizations (lower(name));

CREATE TABLE versions (
  organization INTEGER, publication INTEGER, version TEXT NOT NULL, published_ms BIGINT NOT NULL,
  last_sequence BIGINT NOT NULL, organization_id BIGINT NOT NULL, title TEXT NOT NULL, domain TEXT NOT NULL,
  category_id BIGINT NOT NULL, course_lookup BOOLEAN NOT NULL, lms_user_properties TEXT NOT NULL,
  policy TEXT NOT NULL, events BIGINT NOT NULL, users BIGINT NOT NULL, boards BIGINT NOT NULL, pins BIGINT NOT NULL,
  PRIMARY KEY (organization, publication)
);

CREATE TABLE users (
  organization INTEGER NOT NULL, ix INTEGER NOT NULL, id BIGINT NOT NULL, email TEXT NOT NULL, name TEXT NOT NULL,
  first_name TEXT NOT NULL, last_name TEXT NOT NULL, role TEXT NOT NULL, class_role TEXT NOT NULL,
  created_ms BIGINT, ${LIFE}
);
CREATE INDEX users_by_ix ON users (organization, ix);
CREATE INDEX users_by_id ON users (organization, id);
-- Here and below: of digests, because a text can be longer than what an index takes.
CREATE INDEX users_by_email ON users (organization, md5(lower(email)));

CREATE TABLE user_properties (
  organization INTEGER NOT NULL, person INTEGER NOT NULL, property TEXT NOT NULL, value TEXT NOT NULL, ${LIFE}
);
CREATE INDEX user_properties_by_person ON user_properties (organization, person);
CREATE INDEX user_properties_by_value ON user_properties (organization, property, md5(value));

CREATE TABLE boards (
  organization INTEGER NOT NULL, ix INTEGER NOT NULL, id BIGINT NOT NULL, title TEXT NOT NULL,
  category TEXT NOT NULL, lti_id TEXT NOT NULL, course_id TEXT NOT NULL, created_ms BIGINT, ${LIFE}
);
CREATE INDEX boards_by_ix ON boards (organization, ix);
CREATE INDEX boards_by_id ON boards (organization, id);
CREATE INDEX boards_by_lti_id ON boards (organization, md5(lti_id));
CREATE INDEX boards_by_course_id ON boards (organization, md5(course_id));

CREATE TABLE pins (
  organization INTEGER NOT NULL, ix INTEGER NOT NULL, id BIGINT NOT NULL, board INTEGER, "owner" INTEGER,
  title TEXT NOT NULL, body TEXT NOT NULL, web_url TEXT NOT NULL, image_url TEXT NOT NULL, tags TEXT NOT NULL,
  created_ms BIGINT, ${LIFE}
);
CREATE INDEX pins_by_ix ON pins (organization, ix);
CREATE INDEX pins_by_id ON pins (organization, id);

-- Never ended: a kind and an event stay.
CREATE TABLE kinds (
  organization INTEGER NOT NULL, ix INTEGER NOT NULL, type TEXT NOT NULL, action TEXT NOT NULL, born INTEGER NOT NULL
);
CREATE INDEX kinds_by_ix ON kinds (organization, ix);

-- "sequence" is the order of import, "publication" the version that brought the event.
CREATE TABLE events (
  organization INTEGER NOT NULL, sequence BIGINT NOT NULL, publication INTEGER NOT NULL, id BIGINT,
  kind INTEGER NOT NULL, actor INTEGER NOT NULL, "owner" INTEGER NOT NULL, board INTEGER NOT NULL, pin INTEGER,
  timestamp_ms BIGINT NOT NULL
) PARTITION BY RANGE (timestamp_ms);
-- No default partition: with one, a partition for another year could only be attached while nobody reads or writes.
CREATE TABLE events_before_${FIRST_YEAR} PARTITION OF events
  FOR VALUES FROM (MINVALUE) TO (${startOfYear(FIRST_YEAR)});
CREATE TABLE events_after_${LAST_YEAR} PARTITION OF events
  FOR VALUES FROM (${startOfYear(LAST_YEAR + 1)}) TO (MAXVALUE);
CREATE INDEX events_by_time ON events (organization, timestamp_ms, sequence);
CREATE INDEX events_by_board ON events (organization, board, timestamp_ms, sequence);
CREATE INDEX events_by_actor ON events (organization, actor, timestamp_ms, sequence);
CREATE INDEX events_by_id ON events (organization, id) WHERE id IS NOT NULL;
CREATE INDEX events_by_pin ON events (organization, pin) WHERE pin IS NOT NULL;
-- Later events lie further back in the table: this finds what is new, and costs next to nothing.
CREATE INDEX events_by_sequence ON events USING brin (organization, sequence) WITH (pages_per_range = 32);

CREATE TABLE memberships (
  organization INTEGER NOT NULL, board INTEGER NOT NULL, person INTEGER NOT NULL, born INTEGER NOT NULL
);
CREATE INDEX memberships_by_board ON memberships (organization, board, person);

CREATE TABLE imported_points (
  organization INTEGER NOT NULL, board INTEGER NOT NULL, person INTEGER NOT NULL, total_points BIGINT NOT NULL,
  participation_score BIGINT NOT NULL, ${LIFE}
);
CREATE INDEX imported_points_by_board ON imported_points (organization, board, person);

-- "place" is the order of import.
CREATE TABLE adjustments (
  organization INTEGER NOT NULL, board INTEGER NOT NULL, person INTEGER NOT NULL, points BIGINT NOT NULL,
  timestamp_ms BIGINT NOT NULL, reason TEXT NOT NULL, place BIGINT NOT NULL, born INTEGER NOT NULL
);
CREATE INDEX adjustments_by_board ON adjustments (organization, board, person);

-- Derived from the above at publication.
CREATE TABLE user_created (
  organization INTEGER NOT NULL, ix INTEGER NOT NULL, created_ms BIGINT, ${LIFE}
);
CREATE INDEX user_created_by_ix ON user_created (organization, ix);
CREATE TABLE board_created (
  organization INTEGER NOT NULL, ix INTEGER NOT NULL, created_ms BIGINT, ${LIFE}
);
CREATE INDEX board_created_by_ix ON board_created (organization, ix);

-- Everybody who acts or owns on a board, is or was on it; "present" is decision 10.
CREATE TABLE board_people (
  organization INTEGER NOT NULL, board INTEGER NOT NULL, person INTEGER NOT NULL, present BOOLEAN NOT NULL, ${LIFE}
);
CREATE INDEX board_people_by_board ON board_people (organization, board, person);
CREATE INDEX board_people_by_person ON board_people (organization, person);

CREATE TABLE policies (
  organization INTEGER NOT NULL, policy INTEGER NOT NULL, goal BIGINT NOT NULL, weekly_maximum BIGINT,
  percent BOOLEAN NOT NULL, from_ms BIGINT, until_ms BIGINT, ${LIFE}
);
CREATE INDEX policies_by_organization ON policies (organization);
CREATE TABLE board_policies (
  organization INTEGER NOT NULL, board INTEGER NOT NULL, policy INTEGER NOT NULL, ${LIFE}
);
CREATE INDEX board_policies_by_board ON board_policies (organization, board);

CREATE TABLE awards (
  organization INTEGER NOT NULL, board INTEGER NOT NULL, person INTEGER NOT NULL, sequence BIGINT NOT NULL,
  timestamp_ms BIGINT NOT NULL, rule INTEGER NOT NULL, points BIGINT NOT NULL, outcome TEXT NOT NULL,
  week_ms BIGINT, ${LIFE}
);
CREATE INDEX awards_by_board ON awards (organization, board, person);
CREATE INDEX awards_by_person ON awards (organization, person);
CREATE INDEX awards_by_sequence ON awards (organization, sequence);

CREATE TABLE standings (
  organization INTEGER NOT NULL, board INTEGER NOT NULL, person INTEGER NOT NULL, total_points BIGINT NOT NULL,
  participation_score BIGINT NOT NULL, ${LIFE}
);
CREATE INDEX standings_by_board ON standings (organization, board, person);
CREATE INDEX standings_by_person ON standings (organization, person);

CREATE TABLE keys (
  id TEXT PRIMARY KEY, digest BYTEA NOT NULL, organization TEXT NOT NULL, label TEXT NOT NULL, scope TEXT NOT NULL,
  redact_email BOOLEAN NOT NULL, redact_name BOOLEAN NOT NULL, rate_requests INTEGER, rate_per_seconds INTEGER,
  created_ms BIGINT NOT NULL, expires_ms BIGINT, retires_ms BIGINT, revoked_ms BIGINT, last_used_ms BIGINT,
  rotated_to TEXT
);
-- Counted up by every change of a key but its last use, so that servers notice it without reading the keys.
CREATE TABLE key_changes (changes BIGINT NOT NULL);
INSERT INTO key_changes VALUES (0);
`;

/** Tables of records whose rows can end, in no order. */
export const MORTAL = [
  'users',
  'user_properties',
  'boards',
  'pins',
  'imported_points',
  'user_created',
  'board_created',
  'board_people',
  'policies',
  'board_policies',
  'awards',
  'standings',
] as const;
export type MortalTable = (typeof MORTAL)[number];

/** By which rows are found that no version in use holds any more. */
const ENDED = MORTAL.map(
  (table) => `CREATE INDEX ${table}_ended ON ${table} (organization, died) WHERE died < ${ALIVE};`,
);

/** Of these the rows that came with a publication are asked for. They lie in that order, so a few bytes a page tell. */
const BORN = (
  [
    'user_properties',
    'boards',
    'imported_points',
    'adjustments',
    'user_created',
    'board_created',
    'board_people',
    'awards',
    'standings',
  ] as const
).map(
  (table) =>
    `CREATE INDEX ${table}_born ON ${table} USING brin (organization, born) WITH (pages_per_range = 16, autosummarize = on);`,
);

/** The tables as they were at first; `migrations.ts` has the steps after it. */
export const FIRST_TABLES = `${FIRST}${[...ENDED, ...BORN].join('\n')}`;

/** Tables of records whose rows stay for ever once they are published. */
export const LASTING = ['kinds', 'memberships', 'adjustments', 'forgotten_boards'] as const;
export type LastingTable = (typeof LASTING)[number];

export type Table = MortalTable | LastingTable | 'events';

/** One version: the organization's number in the store, and the publication. */
export interface At {
  readonly organization: number;
  readonly publication: number;
}

/** The rows of a table that are part of a version, to stand after FROM or JOIN, under the name of the table. */
export function rowsAt({ organization, publication }: At, table: Table): string {
  const born = table === 'events' ? 'publication' : 'born';
  const lives = MORTAL.some((mortal) => mortal === table) ? ` AND died > ${publication}` : '';
  return `(SELECT * FROM ${table} WHERE organization = ${organization} AND ${born} <= ${publication}${lives}) ${table}`;
}

/** A version, and the publication of an earlier one. */
export interface Span extends At {
  readonly after: number;
}

/** The rows of the version that the earlier one has not, as `rowsAt`. */
export function rowsSince(span: Span, table: MortalTable | LastingTable): string {
  return `(SELECT * FROM ${rowsAt(span, table)} WHERE born > ${span.after}) ${table}`;
}

/** The rows of the earlier version that the version has not. */
export function rowsEnded({ organization, publication, after }: Span, table: MortalTable): string {
  return `(SELECT * FROM ${table} WHERE organization = ${organization} AND born <= ${after}
    AND died > ${after} AND died <= ${publication}) ${table}`;
}
