/** The single row of the table `version` of a version file. */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Settings } from '../store.ts';
import { bigint, text, userPointsKey } from '../stored-values.ts';
import { runRows } from './database.ts';

/** The properties of a version in addition to its settings and its rows. */
export interface VersionFacts {
  readonly version: string;
  /** Its number; the next publication gets the next number. */
  readonly publication: number;
  readonly publishedMs: number;
  /** Sequence of the event published last. */
  readonly lastSequence: number;
  /** See `organizationDigest`. */
  readonly organizationDigest: string;
}

/** Replaces the row. */
export async function writeVersion(
  connection: DuckDBConnection,
  settings: Settings,
  facts: VersionFacts,
): Promise<void> {
  await connection.run('DELETE FROM version');
  await runRows(
    connection,
    `INSERT INTO version (version, published_ms, publication, last_sequence, organization_id, title,
       domain, category_id, course_lookup, lms_user_properties, user_points_key, policy,
       organization_digest)
     SELECT $version, $publishedMs, $publication, $lastSequence, $id, $title, $domain, $categoryId,
       $courseLookup = 1, $properties, $pointsKey, $policy, $organizationDigest`,
    {
      version: facts.version,
      publishedMs: BigInt(facts.publishedMs),
      publication: BigInt(facts.publication),
      lastSequence: BigInt(facts.lastSequence),
      id: settings.id,
      title: settings.title,
      domain: settings.domain,
      categoryId: settings.categoryId,
      courseLookup: settings.courseLookup ? 1n : 0n,
      properties: JSON.stringify(settings.lmsUserProperties),
      pointsKey: settings.userPointsKey,
      policy: settings.policy,
      organizationDigest: facts.organizationDigest,
    },
  );
}

/** The settings in the row. */
export async function readSettings(connection: DuckDBConnection): Promise<Settings> {
  const [row] = await runRows(
    connection,
    `SELECT organization_id, title, domain, category_id, course_lookup, lms_user_properties, user_points_key, policy
     FROM version`,
  );
  if (row === undefined) throw new Error('the generation names no version');
  const [id, title, domain, categoryId, course, properties, pointsKey, policy] = row;
  return {
    ...{ id: bigint(id), title: text(title), domain: text(domain), categoryId: bigint(categoryId) },
    ...{ courseLookup: course === true, lmsUserProperties: JSON.parse(text(properties)) },
    ...{ userPointsKey: userPointsKey(pointsKey), policy: text(policy) },
  };
}
