/**
 * Merging staged events into the timeline (decision 29): those that are known already are found first, which on a
 * usual import are none or few, and the rest is written straight from the staging.
 */
import type { Change } from '../store.ts';
import type { Draft } from './draft.ts';
import type { EventSurvey } from './event-survey.ts';
import type { Basis } from './merge.ts';

/**
 * Finds the events that are new and leaves them, in the order of time, as the view `new_events`. Sequences grow in the
 * order of import; they leave gaps where other records stood between.
 */
export async function mergeEvents(draft: Draft, survey: EventSurvey, basis: Basis): Promise<Change> {
  await draft.add('kinds', 'ix, type, action', NEW_KINDS);
  const known = await findKnown(draft, survey, basis);
  const [staged] = await draft.rows('SELECT count(*), coalesce(min(n), 1) FROM staged_events');
  const [all, first] = [Number(staged?.[0]), Number(staged?.[1])];
  const unknown = known ? 'NOT EXISTS (SELECT FROM known_events k WHERE k.n = s.n)' : 'true';
  await draft.keep(
    'added_events',
    `SELECT ${basis.lastSequence - first + 1} + n AS sequence, id, kind, actor, "owner", board, pin, timestamp_ms
     FROM (${resolved(unknown)}) r ORDER BY timestamp_ms, n`,
  );
  await draft.run(
    `CREATE TEMP VIEW new_events AS
     SELECT sequence, kind, actor, "owner", board, pin, timestamp_ms FROM added_events`,
  );
  const [added] = await draft.count(['added_events']);
  return { added, changed: 0, unchanged: all - added };
}

/** Writes the new events into the timeline, in the order of time: so they are read, and so their indexes grow fast. */
export async function insertEvents({ session, organization, publication }: Draft): Promise<void> {
  await session.run(
    `INSERT INTO corkboard.events
       (organization, sequence, publication, id, kind, actor, "owner", board, pin, timestamp_ms)
     SELECT ${organization}, sequence, ${publication}, id, kind, actor, "owner", board, pin, timestamp_ms
     FROM added_events`,
  );
}

/** Kinds that only refused events had are no news. One event of a kind is found sooner than all kinds of all events. */
const NEW_KINDS = `
  SELECT (SELECT count(*) FROM kinds) + row_number() OVER (ORDER BY kind) - 1, type, action
  FROM staged_kinds s
  WHERE NOT EXISTS (SELECT FROM kinds k WHERE k.type = s.type AND k.action = s.action)
    AND (SELECT true FROM staged_events e WHERE e.kind = s.kind LIMIT 1)`;

/** Staged events with indices instead of ids. */
function resolved(where: string): string {
  return `
    SELECT s.n, s.id, k.ix AS kind, a.ix AS actor, o.ix AS "owner", b.ix AS board, p.ix AS pin, s.timestamp_ms
    FROM staged_events s
    JOIN (SELECT named.kind, ix FROM staged_kinds named JOIN kinds USING (type, action)) k ON k.kind = s.kind
    JOIN users a ON a.id = s.actor_id JOIN users o ON o.id = s.owner_id
    JOIN boards b ON b.id = s.board_id LEFT JOIN pins p ON p.id = s.pin_id
    WHERE ${where}`;
}

/** Writes the numbers of staged events that are known to the table `known_events`; false when there are none. */
async function findKnown(draft: Draft, survey: EventSurvey, { counts }: Basis): Promise<boolean> {
  const queries: string[] = [];
  if (survey.idsGoBack) queries.push(REPEATED_IDS);
  if (counts.events > 0 && survey.hasIds) queries.push(PUBLISHED_IDS);
  if (counts.events > 0 && survey.hasAnonymous) {
    await draft.keep('anonymous_events', resolved('s.id IS NULL'));
    queries.push(PUBLISHED_REPEATS);
  }
  if (queries.length === 0) return false;
  await draft.keep('known_events', queries.join(' UNION '));
  const [known] = await draft.count(['known_events']);
  return known > 0;
}

/** An id that comes twice is that of the event that came first. */
const REPEATED_IDS = `
  SELECT n FROM (
    SELECT n, row_number() OVER (PARTITION BY id ORDER BY n) AS repeat FROM staged_events WHERE id IS NOT NULL
  ) numbered WHERE repeat > 1`;

const PUBLISHED_IDS = `
  SELECT s.n FROM staged_events s
  WHERE s.id IS NOT NULL AND EXISTS (SELECT FROM events e WHERE e.id = s.id AND e.id IS NOT NULL)`;

const FIELDS = 'kind, actor, "owner", board, pin, timestamp_ms';

/**
 * Events without an id are the same when all fields are equal and they are the same repeat of them: of `k` equal
 * ones those are new that come after the ones already published.
 */
const PUBLISHED_REPEATS = `
  SELECT n FROM (
    SELECT a.n, h.held, row_number() OVER (
      PARTITION BY a.kind, a.actor, a."owner", a.board, a.pin, a.timestamp_ms ORDER BY a.n) AS repeat
    FROM anonymous_events a
    JOIN (
      SELECT ${FIELDS}, count(*) AS held FROM events
      WHERE timestamp_ms IN (SELECT timestamp_ms FROM anonymous_events) GROUP BY ${FIELDS}
    ) h ON h.kind = a.kind AND h.actor = a.actor AND h."owner" = a."owner" AND h.board = a.board
      AND h.timestamp_ms = a.timestamp_ms AND h.pin IS NOT DISTINCT FROM a.pin
  ) repeats WHERE repeat <= held`;
