/**
 * What of a thing a later record replaces, field by field (decision 29): the columns after `ix` and `id`, as every store
 * has them. Of boards and pins with their defaults, in SQL.
 */

export const USER_COLUMNS: readonly string[] = [
  'email',
  'name',
  'first_name',
  'last_name',
  'role',
  'class_role',
  'created_ms',
  'forgotten',
];

export const BOARD_COLUMNS: Readonly<Record<string, string>> = {
  title: "''",
  category: "''",
  lti_id: "''",
  course_id: "''",
  created_ms: 'NULL',
};

export const PIN_COLUMNS: Readonly<Record<string, string>> = {
  board: 'NULL',
  '"owner"': 'NULL',
  title: "''",
  body: "''",
  web_url: "''",
  image_url: "''",
  tags: "'[]'",
  created_ms: 'NULL',
};
