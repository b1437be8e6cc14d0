/** Merging staged users: as other things, and with the two ways to say a name, and LMS properties (decision 28). */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Change } from '../store.ts';
import { applyMerged, countRows } from './merge-things.ts';

/**
 * A record says a name in halves (with or without the whole), or as a whole only. Halves are joined with a space; a
 * whole is split at its last space, unless it only repeats the name whose halves are known already.
 */
const MERGED_USERS = `
  CREATE OR REPLACE TEMP TABLE merged AS
  WITH given AS (
    SELECT id, min(n) AS n,
      arg_max(email, n) FILTER (email IS NOT NULL) AS email,
      arg_max(role, n) FILTER (role IS NOT NULL) AS role,
      arg_max(class_role, n) FILTER (class_role IS NOT NULL) AS class_role,
      arg_max(created_ms, n) FILTER (created_ms IS NOT NULL) AS created_ms,
      arg_max({n: n, name: name, first: coalesce(first_name, ''), last: coalesce(last_name, '')}, n)
        FILTER (first_name IS NOT NULL OR last_name IS NOT NULL) AS halves,
      arg_max({n: n, name: name}, n)
        FILTER (first_name IS NULL AND last_name IS NULL AND name IS NOT NULL) AS whole
    FROM staged_users GROUP BY id
  ),
  known AS (
    SELECT u.ix, g.*, u.email AS old_email, u.role AS old_role, u.class_role AS old_class_role,
      u.created_ms AS old_created_ms,
      CASE WHEN halves IS NULL THEN u.name ELSE coalesce(halves.name, trim(halves.first || ' ' || halves.last)) END
        AS known_name,
      CASE WHEN halves IS NULL THEN u.first_name ELSE halves.first END AS known_first,
      CASE WHEN halves IS NULL THEN u.last_name ELSE halves.last END AS known_last
    FROM given g LEFT JOIN users u ON u.id = g.id
  ),
  named AS (
    SELECT *, whole IS NOT NULL AND (halves IS NULL OR whole.n > halves.n) AND whole.name IS DISTINCT FROM known_name
      AS renamed
    FROM known
  )
  SELECT ix, id, coalesce(email, old_email, '') AS email,
    CASE WHEN renamed THEN whole.name ELSE coalesce(known_name, '') END AS name,
    CASE WHEN NOT renamed THEN coalesce(known_first, '')
      WHEN contains(whole.name, ' ') THEN regexp_extract(whole.name, '(?s)^(.*) ([^ ]*)$', 1)
      ELSE whole.name END AS first_name,
    CASE WHEN NOT renamed THEN coalesce(known_last, '')
      WHEN contains(whole.name, ' ') THEN regexp_extract(whole.name, '(?s)^(.*) ([^ ]*)$', 2)
      ELSE '' END AS last_name,
    coalesce(role, old_role, 'user') AS role,
    coalesce(class_role, old_class_role, '') AS class_role,
    coalesce(created_ms, old_created_ms) AS created_ms,
    n
  FROM named`;

/** LMS properties given, the last value each; an empty one takes the property away. */
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

export async function mergeUsers(connection: DuckDBConnection): Promise<Change> {
  await connection.run(MERGED_USERS);
  const columns = ['email', 'name', 'first_name', 'last_name', 'role', 'class_role', 'created_ms'];
  const before = (await countRows(connection, ['users']))[0];
  const { added, changed, unchanged } = await applyMerged(connection, 'users', columns);
  await connection.run(MERGED_PROPERTIES);
  // Those whose only change is in their properties, beside those whose fields changed.
  const [onlyProperties] = await countRows(connection, [
    `(SELECT DISTINCT person FROM merged_properties WHERE person < ${before}
      AND person NOT IN (SELECT ix FROM altered_users))`,
  ]);
  await connection.run(`
    DELETE FROM user_properties p USING merged_properties m WHERE m.person = p.person AND m.property = p.property;
    INSERT INTO user_properties SELECT * FROM merged_properties WHERE value <> '' ORDER BY property, value;`);
  return { added, changed: changed + onlyProperties, unchanged: unchanged - onlyProperties };
}
