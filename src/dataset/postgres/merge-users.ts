/** Merging staged users: as other things, and with the two ways to say a name, and LMS properties (decision 28). */
import { USER_COLUMNS } from '../merged-columns.ts';
import type { Change } from '../store.ts';
import { USER_CLOCKS } from '../user-clocks.ts';
import type { Draft } from './draft.ts';
import { applyMerged, latest } from './merge-things.ts';

/** A whole name up to its last space, and after it; without a space it is all first name. */
const firstOf = (name: string) =>
  `CASE WHEN strpos(${name}, ' ') = 0 THEN ${name} ELSE left(${name}, length(${name}) - strpos(reverse(${name}), ' ')) END`;
const lastOf = (name: string) =>
  `CASE WHEN strpos(${name}, ' ') = 0 THEN '' ELSE right(${name}, strpos(reverse(${name}), ' ') - 1) END`;

/**
 * A record says a name in halves (with or without the whole), or as a whole only. Halves are joined with a space; one
 * that is not given stays. A whole is split, unless it comes last and only repeats the name whose halves are known
 * already. Up to the last record with halves, `halves_n`, a whole is therefore as good as its halves.
 */
const MERGED_USERS = `
  WITH said AS (
    SELECT n, id, email, name, role, class_role, created_ms, forgotten,
      CASE WHEN as_whole THEN ${firstOf('name')} ELSE first_name END AS first_name,
      CASE WHEN as_whole THEN ${lastOf('name')} ELSE last_name END AS last_name,
      coalesce(max(n) FILTER (WHERE NOT as_whole) OVER (PARTITION BY id), 0) AS halves_n
    FROM (SELECT *, coalesce(first_name, last_name) IS NULL AS as_whole FROM staged_users) s
  ),
  given AS (
    SELECT id, min(n) AS n, max(halves_n) > 0 AS in_halves,
      ${latest('email')} AS email,
      ${latest('role')} AS role,
      ${latest('class_role')} AS class_role,
      ${latest('created_ms')} AS created_ms,
      bool_or(forgotten = 1) AS forgotten,
      ${latest('first_name', 'n <= halves_n')} AS first_name,
      ${latest('last_name', 'n <= halves_n')} AS last_name,
      max(name) FILTER (WHERE n = halves_n) AS name,
      ${latest('name', 'n > halves_n')} AS whole
    FROM said GROUP BY id
  ),
  halved AS (
    SELECT u.ix, g.id, g.n, whole, in_halves,
      g.name AS given_name,
      coalesce(u.name, '') AS published_name,
      coalesce(g.email, u.email, '') AS email,
      coalesce(g.role, u.role, 'user') AS role,
      coalesce(g.class_role, u.class_role, '') AS class_role,
      coalesce(g.forgotten, u.forgotten, false) AS forgotten,
      CASE WHEN NOT coalesce(g.forgotten, false) THEN coalesce(g.created_ms, u.created_ms) END AS created_ms,
      coalesce(g.first_name, u.first_name, '') AS known_first,
      coalesce(g.last_name, u.last_name, '') AS known_last
    FROM given g LEFT JOIN users u ON u.id = g.id
  ),
  known AS (
    SELECT *,
      CASE WHEN in_halves THEN coalesce(given_name, btrim(known_first || ' ' || known_last)) ELSE published_name END
        AS known_name
    FROM halved
  )
  SELECT ix, id, email,
    coalesce(whole, known_name) AS name,
    CASE WHEN whole <> known_name THEN ${firstOf('whole')} ELSE known_first END AS first_name,
    CASE WHEN whole <> known_name THEN ${lastOf('whole')} ELSE known_last END AS last_name,
    role, class_role, created_ms, forgotten, n
  FROM known`;

/** LMS properties given, the last value each; an empty one takes the property away. */
const MERGED_PROPERTIES = `
  WITH last AS (
    SELECT DISTINCT ON (u.ix, entry.key) u.ix AS person, entry.key AS property, entry.value
    FROM staged_users s JOIN users u ON u.id = s.id CROSS JOIN LATERAL json_each_text(s.lms::json) entry
    ORDER BY u.ix, entry.key, s.n DESC
  )
  SELECT l.person, l.property, l.value FROM last l
  LEFT JOIN user_properties p ON p.person = l.person AND p.property = l.property
  WHERE l.value <> coalesce(p.value, '')`;

/**
 * `held`: how many users there are; `revised`: the sequence that those get that are new or are
 * different now.
 */
export async function mergeUsers(draft: Draft, held: number, revised: number): Promise<Change> {
  await draft.keep('merged', MERGED_USERS);
  const { added, changed, unchanged } = await applyMerged(
    draft,
    'users',
    held,
    USER_COLUMNS,
    USER_CLOCKS,
    revised,
  );
  await draft.keep('merged_properties', MERGED_PROPERTIES);
  // Those whose only change is in their properties, beside those whose fields changed.
  const [onlyProperties] = await draft.count([
    `(SELECT DISTINCT person FROM merged_properties m WHERE person < ${held}
      AND NOT EXISTS (SELECT FROM altered_users a WHERE a.ix = m.person))`,
  ]);
  await draft.end(
    'user_properties',
    'EXISTS (SELECT FROM merged_properties m WHERE m.person = t.person AND m.property = t.property)',
  );
  await draft.add(
    'user_properties',
    'person, property, value',
    `SELECT person, property, value FROM merged_properties WHERE value <> '' ORDER BY person, property`,
  );
  return { added, changed: changed + onlyProperties, unchanged: unchanged - onlyProperties };
}
