/**
 * The views of a copy, for tools that draw charts (decision 95), the same in every database. They
 * are stable: columns keep their names, order and meaning, and new ones come last.
 */

/** The SQL that differs between databases. */
export interface ViewDialect {
  /** The day in UTC of an instant. */
  day(instant: string): string;
  /** Whole seconds since 1970 in UTC, rounded down. */
  seconds(instant: string): string;
  /** The day in UTC of such seconds. */
  dayOf(seconds: string): string;
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

/** The offsets of a time zone from UTC, by the rules of the server. */
export interface CopyZone {
  readonly name: string;
  /** Ascending; the first one also holds before it. In seconds. */
  readonly offsets: readonly { readonly from: number; readonly offset: number }[];
}

/** The views for the time zones, besides `VIEWS`. */
export function zoneViews(zones: readonly CopyZone[]): readonly CopyView[] {
  if (zones.length === 0) return [];
  /** Events with the zone and the local time, in seconds. */
  const localEvents = ({ seconds }: ViewDialect, columns: string) => {
    const each = zones.map(({ name, offsets }) => {
      const instant = seconds('"timestamp"');
      return `SELECT ${cast(`'${name}'`, 'TEXT')} AS zone, ${instant} + ${offsetAt(instant, offsets)} AS local, ${columns} FROM events`;
    });
    return `(${each.join(' UNION ALL ')}) AS local_events`;
  };
  const day: ViewColumn = {
    name: 'local_day',
    note: 'Day in the time zone.',
    value: ({ dayOf }) => dayOf('local'),
  };
  return [
    {
      name: 'event_times',
      note: 'The local day and hour of events: one row for each event and time zone.',
      columns: [
        column('sync_id', 'The event.'),
        column('zone', 'Time zone.'),
        day,
        column('local_hour', 'Hour of the day in the time zone, 0 to 23.', HOUR),
      ],
      from: (dialect) => `FROM ${localEvents(dialect, 'sync_id')}`,
    },
    {
      ...ACTIVITY_DAILY,
      name: 'activity_daily_local',
      note: 'Events and the people who caused them, by time zone, local day, board, type and action.',
      columns: [column('zone', 'Time zone.'), day, ...ACTIVITY_DAILY.columns.slice(1)],
      from: (dialect) =>
        `FROM ${localEvents(dialect, 'board_id, board_title, board_category, "type", "action", actor_id')}
         GROUP BY zone, ${dialect.dayOf('local')}, board_id, "type", "action"`,
    },
  ];
}

const HOUR = cast('((local % 86400 + 86400) % 86400 - (local % 3600 + 3600) % 3600) / 3600', 'BIGINT');

/** A tree of conditions, because a list of them would be tried one after the other. */
function offsetAt(seconds: string, offsets: CopyZone['offsets']): string {
  const [first] = offsets;
  if (offsets.length <= 1) return String(first?.offset ?? 0);
  const middle = Math.ceil(offsets.length / 2);
  const [earlier, later] = [offsets.slice(0, middle), offsets.slice(middle)];
  return `CASE WHEN ${seconds} < ${later[0]?.from} THEN ${offsetAt(seconds, earlier)} ELSE ${offsetAt(seconds, later)} END`;
}
