/**
 * The views in a version file, for people and tools that open it with DuckDB (decision 95).
 * Corkboard does not read them. They have the names and columns of the tables and views of copies,
 * except that `sequence` identifies events. They are stable: columns keep their names, order and
 * meaning, and new ones come last.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { literal } from '../../../domain/sql-literal.ts';

const SCHEMA = 'bi';

interface VersionView {
  readonly name: string;
  readonly note: string;
  readonly query: string;
}

/** The columns of a user in an event. */
const personOf = (role: 'owner' | 'actor') =>
  [`${role}.id AS ${role}_id`]
    .concat(['email', 'name', 'role', 'class_role'].map((field) => textOf(role, field, `${role}_${field}`)))
    .join(', ');

function textOf(table: string, column: string, name = column): string {
  return `coalesce(${table}.${column}, '') AS ${name}`;
}

/** Null for an event without a pin. */
function ofPin(column: string): string {
  return `CASE WHEN pin.ix IS NOT NULL THEN coalesce(pin.${column}, '') END AS pin_${column}`;
}

const EVENTS = `
  SELECT event.sequence, kind.type, kind.action, ${personOf('owner')}, ${personOf('actor')},
    version.organization_id, version.title AS organization_name, version.domain AS organization_domain,
    version.category_id AS organization_category_id,
    pin.id AS pin_id, CASE WHEN pin.ix IS NOT NULL THEN kind.action END AS pin_activity,
    ${['title', 'body', 'web_url', 'image_url'].map(ofPin).join(', ')},
    from_json(pin.tags, '["VARCHAR"]') AS pin_tags,
    board.id AS board_id, ${textOf('board', 'title', 'board_title')},
    ${textOf('board', 'category', 'board_category')},
    make_timestamptz(event.timestamp_ms * 1000) AS "timestamp"
  FROM main.events AS event
  JOIN main.kinds AS kind ON kind.ix = event.kind
  JOIN main.users AS owner ON owner.ix = event.owner
  JOIN main.users AS actor ON actor.ix = event.actor
  JOIN main.boards AS board ON board.ix = event.board
  LEFT JOIN main.pins AS pin ON pin.ix = event.pin
  CROSS JOIN main.version AS version`;

const POINTS = `
  SELECT person.id AS user_id, ${textOf('person', 'email')}, ${textOf('person', 'name')},
    board.id AS board_id, ${textOf('board', 'title', 'board_title')},
    total.total_points, total.participation_score
  FROM main.standings AS total
  JOIN main.users AS person ON person.ix = total.person
  JOIN main.boards AS board ON board.ix = total.board`;

/** Grouped before the names are joined, which would otherwise be compared for each event. */
const ACTIVITY_DAILY = `
  SELECT total.day, board.id AS board_id, ${textOf('board', 'title', 'board_title')},
    ${textOf('board', 'category', 'board_category')}, kind.type, kind.action, total.events, total.people
  FROM (
    SELECT CAST(make_timestamp(timestamp_ms * 1000) AS DATE) AS day, board, kind,
      count(*) AS events, count(DISTINCT actor) AS people
    FROM main.events GROUP BY day, board, kind
  ) AS total
  JOIN main.boards AS board ON board.ix = total.board
  JOIN main.kinds AS kind ON kind.ix = total.kind`;

const texts = (table: string, ...columns: readonly string[]) =>
  columns.map((column) => textOf(table, column)).join(', ');

const VIEWS: readonly VersionView[] = [
  {
    name: 'events',
    note: 'What users have done, with the names of users, boards and pins.',
    query: EVENTS,
  },
  {
    name: 'users',
    note: 'The users of the organization.',
    query: `SELECT id, ${texts('users', 'email', 'role', 'name', 'first_name', 'last_name')} FROM main.users`,
  },
  {
    name: 'boards',
    note: 'The boards of the organization.',
    query: `SELECT id, ${texts('boards', 'title', 'category')} FROM main.boards`,
  },
  { name: 'points', note: 'The points of each user on each board, of all time.', query: POINTS },
  {
    name: 'activity_daily',
    note: 'Events and the people who caused them, by day (UTC), board, type and action.',
    query: ACTIVITY_DAILY,
  },
];

/**
 * Drops the schema first, so that nothing of a different version of Corkboard stays in it, nor
 * anything that a tool has written there.
 */
export async function writeViews(connection: DuckDBConnection): Promise<void> {
  const made = VIEWS.map(
    ({ name, note, query }) =>
      `CREATE VIEW ${SCHEMA}.${name} AS ${query};
       COMMENT ON VIEW ${SCHEMA}.${name} IS ${literal(note)};`,
  );
  await connection.run(`
    BEGIN;
    DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE;
    CREATE SCHEMA ${SCHEMA};
    ${made.join('\n')}
    COMMIT;`);
}
