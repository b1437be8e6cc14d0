/**
 * Checks one version: reads every block that holds data, which DuckDB compares with its checksums,
 * and compares the tables with each other.
 */
import { readHistoryOf } from '../publish/history.ts';
import type { NamedPublication } from '../publish/version-identity.ts';
import { openVersion, type VersionFile } from './opened-version.ts';

/** Memory that DuckDB may use before it spills to disk. */
const MEMORY_BYTES = 512e6;

/** Columns that refer to `ix` of a table; `optional`: they can be missing. */
const REFERENCES: readonly {
  readonly table: string;
  readonly columns: readonly string[];
  readonly to: string;
}[] = [
  { table: 'user_properties', columns: ['person'], to: 'users' },
  { table: 'pins', columns: ['board'], to: 'boards' },
  { table: 'pins', columns: ['owner'], to: 'users' },
  { table: 'events', columns: ['kind'], to: 'kinds' },
  { table: 'events', columns: ['actor', 'owner'], to: 'users' },
  { table: 'events', columns: ['board'], to: 'boards' },
  { table: 'events', columns: ['pin'], to: 'pins' },
  ...['memberships', 'imported_points', 'adjustments', 'board_people', 'awards', 'standings'].flatMap(
    (table) => [
      { table, columns: ['board'], to: 'boards' },
      { table, columns: ['person'], to: 'users' },
    ],
  ),
  { table: 'user_created', columns: ['ix'], to: 'users' },
  { table: 'board_created', columns: ['ix'], to: 'boards' },
];

/** Tables of records, numbered without gaps. */
const NUMBERED = ['users', 'boards', 'pins', 'kinds'] as const;
/** Tables with at most one row for each combination of these columns. */
const UNIQUE: readonly (readonly [table: string, columns: string])[] = [
  ...(['users', 'boards', 'pins'] as const).map((table) => [table, 'id'] as const),
  ['kinds', 'type, action'],
  ['events', 'sequence'],
  ...['memberships', 'imported_points', 'board_people', 'standings'].map(
    (table) => [table, 'board, person'] as const,
  ),
];

const EVENT = 'sequence, kind, actor, owner, board, pin, timestamp_ms';

/** Each with a query that counts the rows for which it is true. */
function statements(): readonly (readonly [problem: string, count: string])[] {
  return [
    ...NUMBERED.map(
      (table) =>
        [
          `the numbers of ${table} have gaps`,
          `SELECT count(*) - (coalesce(max(ix), -1) + 1) + count(*) - count(DISTINCT ix) FROM ${table}`,
        ] as const,
    ),
    ...UNIQUE.map(
      ([table, columns]) =>
        [
          `${table} have the same ${columns} twice`,
          `SELECT count(*) FROM (SELECT 1 FROM ${table} GROUP BY ${columns} HAVING count(*) > 1)`,
        ] as const,
    ),
    ...REFERENCES.flatMap(({ table, columns, to }) =>
      columns.map(
        (column) =>
          [
            `${table} refer by ${column} to missing ${to}`,
            `SELECT count(*) FROM ${table} WHERE ${column} NOT BETWEEN 0 AND (SELECT count(*) - 1 FROM ${to})`,
          ] as const,
      ),
    ),
    [
      'events are later than the last sequence of the version',
      'SELECT count(*) FROM events WHERE sequence > (SELECT last_sequence FROM version)',
    ],
    [
      'events of a later import have earlier sequences',
      `SELECT count(*) FROM (SELECT min(sequence) < lag(max(sequence)) OVER (ORDER BY publication) AS early
       FROM events GROUP BY publication) WHERE early`,
    ],
    ...['board_events', 'actor_events'].map(
      (table) =>
        [
          `${table} are not the events`,
          `SELECT count(*) FROM (
             SELECT count(*) AS n, sum(hash(${EVENT})) AS h FROM events UNION
             SELECT count(*), sum(hash(${EVENT})) FROM ${table}) HAVING count(*) > 1`,
        ] as const,
    ),
    ...(['user', 'board'] as const).map(
      (thing) =>
        [
          `${thing}_created has no row for some ${thing}s`,
          `SELECT count(*) FROM ${thing}s ANTI JOIN ${thing}_created USING (ix)`,
        ] as const,
    ),
    [
      'board_people lack users of events, memberships or points',
      `SELECT count(*) FROM (SELECT board, actor AS person FROM events UNION SELECT board, "owner" FROM events
         UNION SELECT board, person FROM memberships UNION SELECT board, person FROM imported_points)
       ANTI JOIN board_people USING (board, person)`,
    ],
    [
      'awards are of events that do not exist',
      'SELECT count(*) FROM awards ANTI JOIN events USING (sequence)',
    ],
  ];
}

export interface CheckedVersion {
  readonly format: number;
  /** What is wrong, one line each. */
  readonly problems: readonly string[];
  /** The publications that the file records. */
  readonly history: readonly NamedPublication[];
}

/**
 * Reads the whole file, without releasing it. Throws when it cannot be read, or is a different
 * version.
 */
export async function checkVersion(file: VersionFile): Promise<CheckedVersion> {
  const { database, format } = await openVersion(file, MEMORY_BYTES);
  try {
    for (const [table] of await database.rows('SELECT table_name FROM duckdb_tables()')) {
      await database.rows(`SELECT count(*), sum(hash(t)) FROM ${table} t`);
    }
    const problems: string[] = [];
    for (const [problem, sql] of statements()) {
      const [found] = await database.rows(sql);
      const count = Number(found?.[0] ?? 0);
      if (count !== 0) problems.push(`${problem} (${count})`);
    }
    return { format, problems, history: await readHistoryOf((sql) => database.rows(sql), format) };
  } finally {
    database.close();
  }
}
