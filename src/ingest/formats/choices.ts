/**
 * Options of an import from other software, without loading its readers, which are in `formats.ts`.
 */
export const FORMAT_TITLES = {
  'moodle-log': 'log reports of Moodle, CSV; requires --time-zone',
  caliper: 'envelopes of IMS Caliper 1.1 and 1.2: a JSON array, or an envelope a line',
  discourse:
    'documents of Discourse: topics, posts, categories, users, likes, in JSON; its list of users in CSV',
  oneroster: 'a folder of CSV files of OneRoster 1.2: users, classes, enrollments',
  'stack-exchange': 'the data dump of a site: Posts.xml, Users.xml, Comments.xml, Votes.xml',
  xapi: 'statements of the Experience API: a JSON array, or a statement a line',
} as const;

export type FormatName = keyof typeof FORMAT_TITLES;

/** What can be the board of an xAPI statement in place of its course. */
export const BOARD_SOURCES = ['registration', 'grouping'] as const;
export type BoardSource = (typeof BOARD_SOURCES)[number];

export const DATE_ORDERS = ['dmy', 'mdy', 'ymd'] as const;
export type DateOrder = (typeof DATE_ORDERS)[number];
