/** The numbered steps that make the tables, which are only ever added to. */
import { FIRST_TABLES } from './schema.ts';

export interface Migration {
  readonly number: number;
  readonly sql: string;
}

/** From which sequence on a thing has its present words (decision 19). Rows lie in that order. */
const REVISED = (['users', 'boards', 'pins'] as const).map(
  (table) => `
    ALTER TABLE ${table} ADD revised BIGINT NOT NULL DEFAULT 0;
    -- An import of the version before, which says nothing of it, must not succeed.
    ALTER TABLE ${table} ALTER revised DROP DEFAULT;
    CREATE INDEX ${table}_revised ON ${table} USING brin (organization, revised) WITH (pages_per_range = 16, autosummarize = on);`,
);

/** On which boards somebody was who was forgotten. */
const FORGOTTEN = `
  ALTER TABLE users ADD forgotten BOOLEAN NOT NULL DEFAULT false;
  CREATE TABLE forgotten_boards (
    organization INTEGER NOT NULL, board INTEGER NOT NULL, person INTEGER NOT NULL, born INTEGER NOT NULL
  );
  CREATE INDEX forgotten_boards_by_person ON forgotten_boards (organization, person);`;

/**
 * Organizations that have no data yet have derived nothing, so theirs are keyed like those of new
 * ones.
 */
const DERIVED_IDS = `
  ALTER TABLE organizations ADD derived_ids TEXT NOT NULL DEFAULT 'plain';
  ALTER TABLE organizations ALTER derived_ids DROP DEFAULT;
  UPDATE organizations SET derived_ids = 'keyed' WHERE version IS NULL;`;

/**
 * Users whose row came with a publication are asked for. Rows lie in that order, so a few bytes a
 * page tell.
 */
const USERS_BORN = `
  CREATE INDEX users_born ON users USING brin (organization, born) WITH (pages_per_range = 16, autosummarize = on);`;

/**
 * Redacting keys of before have not been allowed look-ups. A `keys create` of the version before
 * must not succeed.
 */
const LMS_LOOKUP = `
  ALTER TABLE keys ADD allow_lms_lookup BOOLEAN NOT NULL DEFAULT false;
  ALTER TABLE keys ALTER allow_lms_lookup DROP DEFAULT;`;

/**
 * Clocks of users for redacting keys. Earlier changes count for all of them, because it is not
 * known which fields they were about.
 */
const CLOCKS = `
  ALTER TABLE users
    ADD revised_but_email BIGINT, ADD revised_but_name BIGINT, ADD revised_but_both BIGINT;
  UPDATE users SET revised_but_email = revised, revised_but_name = revised, revised_but_both = revised;
  ALTER TABLE users
    ALTER revised_but_email SET NOT NULL, ALTER revised_but_name SET NOT NULL, ALTER revised_but_both SET NOT NULL;`;

const REDACT_ID = `
  ALTER TABLE keys ADD redact_id BOOLEAN NOT NULL DEFAULT false;
  ALTER TABLE keys ALTER redact_id DROP DEFAULT;`;

const USER_POINTS_KEY = (['organizations', 'versions'] as const)
  .map(
    (table) => `
  ALTER TABLE ${table} ADD user_points_key TEXT NOT NULL DEFAULT 'user-id';
  ALTER TABLE ${table} ALTER user_points_key DROP DEFAULT;`,
  )
  .join('');

export const MIGRATIONS: readonly Migration[] = [
  { number: 1, sql: FIRST_TABLES },
  // Only pins whose words have changed were looked for by it, where a policy counts words; every import had to fill it.
  { number: 2, sql: 'DROP INDEX events_by_pin;' },
  { number: 3, sql: `${REVISED.join('\n')} ${FORGOTTEN}` },
  { number: 4, sql: DERIVED_IDS },
  { number: 5, sql: USERS_BORN },
  { number: 6, sql: LMS_LOOKUP },
  { number: 7, sql: CLOCKS },
  { number: 8, sql: REDACT_ID },
  { number: 9, sql: USER_POINTS_KEY },
];
