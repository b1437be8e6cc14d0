/**
 * Merges staged events into the timeline (decision 29). Known events are found first; a usual
 * import has none or few. The rest is inserted directly from the staging table.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { countRows, fillTemporary, runRows } from '../database.ts';
import { textOrDigest } from '../long-texts.ts';
import { between } from '../portions.ts';
import { appendInOrder, eventPortions, rewriteOrdered, stepsBack } from './layout.ts';
import type { MergedRecords } from './merge-records.ts';

export interface MergePosition {
  readonly publication: number;
  /** Last sequence of the current version. */
  readonly lastSequence: number;
}

/** The first sequence that a publication can assign to events and to its other changes. */
export function nextSequence({ lastSequence }: MergePosition): number {
  return lastSequence + 1;
}

/**
 * Appends the new events to `events` and its copies by board and by actor, and provides them as the
 * view `new_events`. Sequences follow the order of import, with gaps where other records came in
 * between. `atOnce`: events that are joined and sorted at once, because DuckDB does not divide its
 * memory well between joins and a sort.
 */
export async function mergeEvents(
  connection: DuckDBConnection,
  position: MergePosition,
  atOnce: number,
): Promise<MergedRecords> {
  const { publication, lastSequence } = position;
  await connection.run(NEW_KINDS);
  await connection.run(
    `CREATE OR REPLACE TEMP VIEW new_events AS SELECT * FROM events WHERE sequence > ${lastSequence}`,
  );
  const known = await findKnown(connection);
  const { all, first, continues, hasBodies } = await readStaged(connection);
  await connection.run(`CREATE OR REPLACE TEMP ${NO_ALTERED_EVENTS}`);
  const added = await appendInOrder(
    connection,
    'events',
    `SELECT * EXCLUDE (n), $before + n AS sequence, $publication AS publication
     FROM (${resolved(known ? 's.n NOT IN (SELECT n FROM known_events)' : 'true', hasBodies)})`,
    {
      parameters: { before: BigInt(nextSequence(position) - first), publication: BigInt(publication) },
      continues,
      portions: hasBodies
        ? await eventPortions(connection, 'staged_events')
        : await portionsByTime(connection, all, atOnce),
    },
  );
  for (const copy of ['board_events', 'actor_events'] as const) {
    await appendInOrder(
      connection,
      copy,
      'SELECT sequence, kind, actor, "owner", board, pin, timestamp_ms FROM new_events',
    );
  }
  const changed = known && hasBodies ? await changeBodies(connection, lastSequence) : 0;
  return { added, changed, unchanged: all - added - changed };
}

/** Conditions that divide this many staged events about equally by time. */
async function portionsByTime(
  connection: DuckDBConnection,
  events: number,
  atOnce: number,
): Promise<readonly string[]> {
  const count = Math.ceil(events / atOnce);
  if (count <= 1) return ['true'];
  const shares = Array.from({ length: count - 1 }, (_, at) => (at + 1) / count);
  const bounds = await runRows(
    connection,
    `SELECT unnest(approx_quantile(timestamp_ms, [${shares.join()}])) FROM staged_events ORDER BY 1`,
  );
  return between('timestamp_ms', bounds.flat());
}

/** What a merge leaves if no body can have changed. */
export const NO_ALTERED_EVENTS = 'TABLE altered_events AS SELECT 0 AS sequence LIMIT 0';

/**
 * Replaces the bodies of events that have an id by the last ones staged for them with the same
 * actor. Keeps these events as the table `altered_events`, and returns how many of them were
 * published before.
 */
async function changeBodies(connection: DuckDBConnection, lastSequence: number): Promise<number> {
  await fillTemporary(connection, 'latest', LATEST);
  await fillTemporary(connection, 'other_bodies', OTHER_BODIES);
  const altered = await fillTemporary(connection, 'altered_events', NEW_BODIES);
  const [all] = await countRows(connection, ['events']);
  const [[bytes] = []] = await runRows(connection, 'SELECT sum(strlen(body)) FROM altered_events');
  const areMany = altered > all * MOST_UPDATED || Number(bytes ?? 0) > MOST_UPDATED_BYTES;
  if (areMany) await rewriteOrdered(connection, 'events', withNewBodies, BOTH_BODIES);
  else await connection.run(UPDATED);
  const [changed] = await countRows(connection, [`(FROM altered_events WHERE sequence <= ${lastSequence})`]);
  return changed;
}

/** An update keeps what it writes in memory, so with more rows the table is written again. */
const MOST_UPDATED = 1 / 16;
const MOST_UPDATED_BYTES = 64e6;

const UPDATED = 'UPDATE events e SET body = a.body FROM altered_events a WHERE a.sequence = e.sequence';

function withNewBodies(events: string, portion: string): string {
  return `
    SELECT e.* REPLACE (coalesce(a.body, e.body) AS body)
    FROM ${events} e LEFT JOIN (FROM altered_events WHERE ${portion}) a ON a.sequence = e.sequence`;
}

const BOTH_BODIES = `(
  SELECT timestamp_ms, body FROM events UNION ALL SELECT timestamp_ms, body FROM altered_events)`;

/**
 * The last staged event with a body for each known one. Only numbers are grouped, and digests
 * joined below, because long texts cannot be spilled to disk.
 */
const LATEST = `
  SELECT e.sequence, max(s.n) AS n
  FROM (FROM staged_events SEMI JOIN known_events USING (n)) s
  JOIN events e ON e.id = s.id JOIN users a ON a.ix = e.actor AND a.id = s.actor_id
  WHERE s.body IS NOT NULL GROUP BY e.sequence`;

/** Those of them whose body differs from the present one. */
const OTHER_BODIES = `
  SELECT l.sequence, e.timestamp_ms, l.n FROM latest l
  JOIN (SELECT n, ${textOrDigest('body')} AS body FROM staged_events SEMI JOIN latest USING (n)) s ON s.n = l.n
  JOIN (
    SELECT sequence, timestamp_ms, ${textOrDigest('body')} AS body FROM events SEMI JOIN latest USING (sequence)
  ) e ON e.sequence = l.sequence
  WHERE e.body IS DISTINCT FROM s.body`;

const NEW_BODIES = `
  SELECT o.sequence, o.timestamp_ms, s.body FROM other_bodies o JOIN staged_events s ON s.n = o.n`;

const NEW_KINDS = `
  INSERT INTO kinds
  SELECT (SELECT count(*) FROM kinds) + row_number() OVER (ORDER BY n) - 1, type, action
  FROM (SELECT type, action, min(n) AS n FROM staged_events GROUP BY type, action) s
  WHERE NOT EXISTS (SELECT 1 FROM kinds k WHERE k.type = s.type AND k.action = s.action)`;

/** Staged events with indices instead of ids. Without bodies, no column of them is moved. */
function resolved(where: string, hasBodies = false): string {
  return `
    SELECT s.n, s.id, k.ix AS kind, a.ix AS actor, o.ix AS "owner", b.ix AS board, p.ix AS pin, s.timestamp_ms
      ${hasBodies ? ', s.body' : ''}
    FROM staged_events s
    JOIN kinds k ON k.type = s.type AND k.action = s.action
    JOIN users a ON a.id = s.actor_id JOIN users o ON o.id = s.owner_id
    JOIN boards b ON b.id = s.board_id LEFT JOIN pins p ON p.id = s.pin_id
    WHERE ${where}`;
}

/**
 * Writes the numbers `n` of known staged events to the table `known_events`. Returns false when
 * there are none.
 */
async function findKnown(connection: DuckDBConnection): Promise<boolean> {
  const [published, anonymous, back] = await countRows(connection, [
    'events',
    '(FROM staged_events WHERE id IS NULL)',
    // Ascending ids, the usual case, need no search for repeats.
    stepsBack('(FROM staged_events WHERE id IS NOT NULL)', 'id'),
  ]);
  const known = [PUBLISHED_IDS];
  if (back > 0) known.push(REPEATED_IDS);
  if (published > 0 && anonymous > 0) known.push(PUBLISHED_REPEATS);
  return (
    (await fillTemporary(connection, 'known_events', known.map((each) => `(${each})`).join(' UNION ALL '))) >
    0
  );
}

/** A repeated id belongs to the event that came first. */
const REPEATED_IDS = `
  SELECT s.n FROM staged_events s
  JOIN (SELECT id, min(n) AS first FROM staged_events WHERE id IS NOT NULL GROUP BY id HAVING count(*) > 1) r
    ON r.id = s.id
  WHERE s.n <> r.first`;

const PUBLISHED_IDS = 'SELECT s.n FROM staged_events s SEMI JOIN events e ON e.id = s.id';

const FIELDS = ['kind', 'actor', '"owner"', 'board', 'pin', 'timestamp_ms'];

/**
 * Events without an id are identified by all their fields and their number among equal events: of
 * `k` equal events, those are new that come after the published ones.
 */
const PUBLISHED_REPEATS = `
  WITH anonymous AS MATERIALIZED (${resolved('s.id IS NULL')}),
  held AS (
    SELECT ${FIELDS.join(', ')}, count(*) AS held FROM events
    WHERE timestamp_ms IN (SELECT timestamp_ms FROM anonymous) GROUP BY ALL
  )
  SELECT a.n FROM anonymous a JOIN held h ON ${FIELDS.map((field) => `h.${field} IS NOT DISTINCT FROM a.${field}`).join(' AND ')}
  QUALIFY row_number() OVER (PARTITION BY ${FIELDS.map((field) => `a.${field}`).join(', ')} ORDER BY a.n) <= h.held`;

async function readStaged(
  connection: DuckDBConnection,
): Promise<{ all: number; first: number; continues: boolean; hasBodies: boolean }> {
  const [row] = await runRows(
    connection,
    `SELECT count(*), coalesce(min(n), 1), min(timestamp_ms) >= (SELECT max(timestamp_ms) FROM events),
       count(body) > 0
     FROM staged_events`,
  );
  return {
    ...{ all: Number(row?.[0]), first: Number(row?.[1]) },
    ...{ continues: row?.[2] === true, hasBodies: row?.[3] === true },
  };
}
