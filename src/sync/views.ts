/**
 * The views of a copy, for tools that draw charts (decision 95), the same in every database. They
 * are stable: columns keep their names, order and meaning, and new ones come last.
 */

/** The SQL that differs between databases. */
export interface ViewDialect {
  /** The day in UTC of an instant. */
  day(instant: string): string;
  /** A joined table with one row for each element of a list of texts. */
  each(texts: string): string;
  /** The element in such a row. */
  readonly element: string;
}

export interface ViewColumn {
  readonly name: string;
  readonly note: string;
  readonly value: (dialect: ViewDialect) => string;
}

export interface CopyView {
  readonly name: string;
  readonly note: string;
  readonly columns: readonly ViewColumn[];
  /** What follows the columns in the query. */
  readonly from: (dialect: ViewDialect) => string;
}

const column = (name: string, note: string, value = `"${name}"`): ViewColumn => {
  return { name, note, value: () => value };
};

/** SQLite has types for columns of a view only where a cast says so. */
const cast = (value: string, type: 'TEXT' | 'BIGINT') => `CAST(${value} AS ${type})`;

const ACTIVITY_DAILY: CopyView = {
  name: 'activity_daily',
  note: 'Events and the people who caused them, by day (UTC), board, type and action.',
  columns: [
    { name: 'day', note: 'Day in UTC.', value: ({ day }) => day('"timestamp"') },
    column('board_id', 'Board.'),
    column('board_title', 'Title of the board.', cast('max(board_title)', 'TEXT')),
    column('board_category', 'Category of the board.', cast('max(board_category)', 'TEXT')),
    column('type', 'Kind of object acted on.'),
    column('action', 'What the actors did.'),
    column('events', 'Number of events. Can be added up.', cast('count(*)', 'BIGINT')),
    column(
      'people',
      'Number of different actors. Cannot be added up: a person can be in several rows.',
      cast('count(DISTINCT actor_id)', 'BIGINT'),
    ),
  ],
  from: ({ day }) => `FROM events GROUP BY ${day('"timestamp"')}, board_id, "type", "action"`,
};

const EVENT_TAGS: CopyView = {
  name: 'event_tags',
  note: 'The tags of the pins of events: one row for each event and tag.',
  columns: [
    column('sync_id', 'The event.'),
    column('pin_id', 'The pin.'),
    { name: 'tag', note: 'A tag of the pin.', value: ({ element }) => cast(element, 'TEXT') },
  ],
  from: ({ each }) => `FROM events, ${each('pin_tags')}`,
};

export const VIEWS: readonly CopyView[] = [ACTIVITY_DAILY, EVENT_TAGS];
