/**
 * The tables of a generation: one published version in one DuckDB file. Things refer to each other by `ix`, a
 * dense 32-bit index in the order of first import, so that an event is a row of small integers. Instants are
 * milliseconds since 1970 in UTC. Rows of `events` lie in the order of the timeline as far as they came together.
 */
export const GENERATION_SCHEMA = `
CREATE TABLE version (
  version VARCHAR, published_ms BIGINT, publication INTEGER, last_sequence BIGINT,
  organization_id BIGINT, title VARCHAR, domain VARCHAR, category_id BIGINT,
  course_lookup BOOLEAN, lms_user_properties VARCHAR, policy VARCHAR
);
CREATE TABLE users (
  ix INTEGER, id BIGINT, email VARCHAR, name VARCHAR, first_name VARCHAR, last_name VARCHAR,
  role VARCHAR, class_role VARCHAR, created_ms BIGINT
);
CREATE TABLE user_properties (person INTEGER, property VARCHAR, value VARCHAR);
CREATE TABLE boards (
  ix INTEGER, id BIGINT, title VARCHAR, category VARCHAR, lti_id VARCHAR, course_id VARCHAR, created_ms BIGINT
);
CREATE TABLE pins (
  ix INTEGER, id BIGINT, board INTEGER, "owner" INTEGER, title VARCHAR, body VARCHAR, web_url VARCHAR,
  image_url VARCHAR, tags VARCHAR, created_ms BIGINT
);
CREATE TABLE kinds (ix INTEGER, type VARCHAR, action VARCHAR);
-- "sequence" is the order of import, "publication" the version that brought the event.
CREATE TABLE events (
  sequence BIGINT, publication INTEGER, id BIGINT, kind INTEGER, actor INTEGER, "owner" INTEGER, board INTEGER,
  pin INTEGER, timestamp_ms BIGINT
);
CREATE TABLE memberships (board INTEGER, person INTEGER);
CREATE TABLE imported_points (board INTEGER, person INTEGER, total_points BIGINT, participation_score BIGINT);
CREATE TABLE adjustments (board INTEGER, person INTEGER, points BIGINT, timestamp_ms BIGINT, reason VARCHAR);

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
`;
