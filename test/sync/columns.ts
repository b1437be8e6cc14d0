/**
 * The columns of the tables and views of a copy, written by hand: queries of users depend on their
 * names, order and types. Columns may be added at the end, nothing else changes.
 */

type Types = readonly [name: string, duckdb: string, sqlite: string, postgres: string];

const integer = (name: string): Types => [name, 'BIGINT', 'INTEGER', 'bigint'];
const text = (name: string): Types => [name, 'VARCHAR', 'TEXT', 'text'];
/** SQLite names only the affinity of a column that a view computes. */
const count = (name: string): Types => [name, 'BIGINT', 'INT', 'bigint'];
const person = (prefix: string): readonly Types[] => [
  integer(`${prefix}_id`),
  ...['email', 'name', 'role', 'class_role'].map((field) => text(`${prefix}_${field}`)),
];

export const COLUMNS: Readonly<Record<string, readonly Types[]>> = {
  events: [
    ...['sync_id', 'type', 'action'].map(text),
    ...person('owner'),
    ...person('actor'),
    integer('organization_id'),
    ...['organization_name', 'organization_domain'].map(text),
    integer('organization_category_id'),
    integer('pin_id'),
    ...['pin_activity', 'pin_title', 'pin_body', 'pin_web_url', 'pin_image_url'].map(text),
    ['pin_tags', 'VARCHAR[]', 'TEXT', 'text[]'],
    integer('board_id'),
    ...['board_title', 'board_category'].map(text),
    ['timestamp', 'TIMESTAMP WITH TIME ZONE', 'TEXT', 'timestamp with time zone'],
  ],
  users: [integer('id'), ...['email', 'role', 'name', 'first_name', 'last_name'].map(text)],
  boards: [integer('id'), ...['title', 'category'].map(text)],
  points: [
    ...[integer('user_id'), text('email'), text('name'), integer('board_id'), text('board_title')],
    ...['total_points', 'participation_score'].map(integer),
  ],
  activity_daily: [
    ['day', 'DATE', 'TEXT', 'date'],
    integer('board_id'),
    ...['board_title', 'board_category', 'type', 'action'].map(text),
    ...['events', 'people'].map(count),
  ],
  event_tags: [text('sync_id'), integer('pin_id'), text('tag')],
};

/** Those of the views for time zones. */
export const ZONE_COLUMNS: Readonly<Record<string, readonly Types[]>> = {
  event_times: [...['sync_id', 'zone'].map(text), ['local_day', 'DATE', 'TEXT', 'date'], count('local_hour')],
  activity_daily_local: [
    text('zone'),
    ['local_day', 'DATE', 'TEXT', 'date'],
    integer('board_id'),
    ...['board_title', 'board_category', 'type', 'action'].map(text),
    ...['events', 'people'].map(count),
  ],
};
