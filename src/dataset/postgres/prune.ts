/** Removing what only versions need that nobody reads any more. */
import type { Draft } from './draft.ts';
import { MORTAL } from './schema.ts';

/** So many publications stay whatever their age, to look back. */
const KEPT = 3;
/** An answer under way may come from a version that was in force not longer ago than this. */
const GRACE_MS = 3_600_000;

/**
 * Removes the versions that are older than the last three and were replaced more than an hour ago, and the rows that had
 * ended when they were replaced.
 */
export async function prune({ session, organization, publication }: Draft, nowMs: number): Promise<void> {
  // The first one to stay was published an hour ago: so long have those before it been out of force.
  const [row] = await session.rows(
    `SELECT max(publication), min(publication) FROM versions
     WHERE organization = ${organization} AND publication <= ${publication - KEPT}
       AND published_ms < ${nowMs - GRACE_MS}`,
  );
  if (row === undefined || row[0] === null || row[0] === row[1]) return;
  const first = Number(row[0]);
  const ended = MORTAL.map(
    (table) => `DELETE FROM corkboard.${table} WHERE organization = ${organization} AND died <= ${first};`,
  );
  await session.run(`${ended.join('\n')}
    DELETE FROM versions WHERE organization = ${organization} AND publication < ${first};`);
}
