/**
 * Merges staged users like other records, and in addition the two forms of a name and LMS
 * properties (decision 28).
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { USER_CLOCKS } from '../../../domain/user-clocks.ts';
import { mergedColumns, quoted } from '../../version-tables.ts';
import { countRows } from '../database.ts';
import { bytesOfRow } from '../long-texts.ts';
import { portionsIn } from '../portions.ts';
import { applyMerged, type MergedRecords } from './merge-records.ts';

/**
 * Fields that are not simply replaced: first name, last name and whole name, and those that an
 * erasure changes.
 */
const SPECIAL = ['name', 'first_name', 'last_name', 'created_ms', 'forgotten'].map(quoted);

/** The other fields, each with its default in SQL. */
const REPLACED = Object.entries({ ...mergedColumns('users'), [quoted('role')]: "'user'" }).filter(
  ([name]) => !SPECIAL.includes(name),
);
const REPLACED_NAMES = REPLACED.map(([name]) => name).join(', ');

/** About what the aggregates of a user take in memory. DuckDB does not write them to disk. */
const BYTES_OF_AGGREGATES = 400;

/** Splits a whole name at its last space, into two groups. */
const SPLIT = "'(?s)^(.*?)(?: ([^ ]*))?$'";

/**
 * A record gives a name as first and last name (with or without the whole name), or as a whole name
 * only. First and last name are joined with a space; one that is not given stays. A whole name is
 * split, unless it comes last and only repeats the name whose halves are known already. So up to
 * the last record with halves, `halves_n`, a whole name is equivalent to its halves. `portion`:
 * condition on the ids.
 */
const mergedUsers = (portion: string) => `
  WITH said AS (
    SELECT * EXCLUDE (first_name, last_name),
      coalesce(first_name, last_name) IS NULL AS as_whole,
      CASE WHEN as_whole THEN regexp_extract(name, ${SPLIT}, 1) ELSE first_name END AS first_name,
      CASE WHEN as_whole THEN regexp_extract(name, ${SPLIT}, 2) ELSE last_name END AS last_name,
      coalesce(max(n) FILTER (NOT as_whole) OVER (PARTITION BY id), 0) AS halves_n
    FROM staged_users WHERE ${portion}
  ),
  given AS (
    SELECT id, min(n) AS n, any_value(halves_n) > 0 AS in_halves,
      ${REPLACED.map(([name]) => `arg_max(${name}, n) FILTER (${name} IS NOT NULL) AS ${name}`).join(', ')},
      arg_max(created_ms, n) FILTER (created_ms IS NOT NULL) AS created_ms,
      bool_or(forgotten = 1) AS forgotten,
      arg_max(first_name, n) FILTER (first_name IS NOT NULL AND n <= halves_n) AS first_name,
      arg_max(last_name, n) FILTER (last_name IS NOT NULL AND n <= halves_n) AS last_name,
      any_value(name) FILTER (n = halves_n) AS name,
      arg_max(name, n) FILTER (name IS NOT NULL AND n > halves_n) AS whole
    FROM said GROUP BY id
  ),
  known AS (
    SELECT u.ix, g.id, g.n, whole,
      ${REPLACED.map(([name, otherwise]) => `coalesce(g.${name}, u.${name}, ${otherwise}) AS ${name}`).join(', ')},
      coalesce(g.forgotten, u.forgotten, false) AS forgotten,
      CASE WHEN NOT coalesce(g.forgotten, false) THEN coalesce(g.created_ms, u.created_ms) END AS created_ms,
      coalesce(g.first_name, u.first_name, '') AS known_first,
      coalesce(g.last_name, u.last_name, '') AS known_last,
      CASE WHEN in_halves THEN coalesce(g.name, trim(known_first || ' ' || known_last)) ELSE coalesce(u.name, '') END
        AS known_name
    FROM given g LEFT JOIN (FROM users WHERE ${portion}) u ON u.id = g.id
  )
  SELECT ix, id, ${REPLACED_NAMES},
    coalesce(whole, known_name) AS name,
    CASE WHEN whole <> known_name THEN regexp_extract(whole, ${SPLIT}, 1) ELSE known_first END AS first_name,
    CASE WHEN whole <> known_name THEN regexp_extract(whole, ${SPLIT}, 2) ELSE known_last END AS last_name,
    created_ms, forgotten, n
  FROM known`;

/** The given LMS properties with their last values; an empty value removes the property. */
const MERGED_PROPERTIES = `
  CREATE OR REPLACE TEMP TABLE merged_properties AS
  WITH given AS (
    SELECT u.ix AS person, n, unnest(map_entries(lms::JSON::MAP(VARCHAR, VARCHAR))) AS entry
    FROM staged_users s JOIN users u ON u.id = s.id WHERE lms IS NOT NULL
  ),
  latest AS (
    SELECT person, entry.key AS property, arg_max(entry.value, n) AS value FROM given GROUP BY person, entry.key
  )
  SELECT l.person, l.property, l.value FROM latest l
  LEFT JOIN user_properties p ON p.person = l.person AND p.property = l.property
  WHERE l.value <> coalesce(p.value, '')`;

/**
 * `revised`: the sequence assigned to new and changed users. `portionBytes`: of users that are
 * merged at once.
 */
export async function mergeUsers(
  connection: DuckDBConnection,
  revised: number,
  portionBytes: number,
): Promise<MergedRecords> {
  const before = (await countRows(connection, ['users']))[0];
  const size = `${BYTES_OF_AGGREGATES} + ${bytesOfRow('users')}`;
  const portions = await portionsIn(connection, { source: 'staged_users', key: 'id', size }, portionBytes);
  const merged = portions.map(mergedUsers);
  const { added, changed, unchanged } = await applyMerged(connection, 'users', merged, USER_CLOCKS, revised);
  await connection.run(MERGED_PROPERTIES);
  // Users whose only change is in their properties.
  const [onlyProperties] = await countRows(connection, [
    `(SELECT DISTINCT person FROM merged_properties WHERE person < ${before}
      AND person NOT IN (SELECT ix FROM altered_users))`,
  ]);
  await connection.run(`
    DELETE FROM user_properties p USING merged_properties m WHERE m.person = p.person AND m.property = p.property;
    INSERT INTO user_properties SELECT * FROM merged_properties WHERE value <> '' ORDER BY property, value;`);
  return { added, changed: changed + onlyProperties, unchanged: unchanged - onlyProperties };
}
