/**
 * Merging staged events into the timeline (decision 29): those that are known already are found first, which on a
 * usual import are none or few, and the rest is written straight from the staging.
 */
import type { Change } from '../store.ts';
import { type Basis, nextSequence } from './basis.ts';
import type { Draft } from './draft.ts';
import type { EventSurvey } from './event-survey.ts';
import { ComingYears, missingYears, ofYears } from './partitions.ts';
import type { Staging } from './staging.ts';

/**
 * Finds the events that are new and leaves them, in the order of time, as the view `new_events`: those of years that
 * have no partition in tables that become partitions with the publication, which are answered; the others wait for
 * `insertEvents`. Sequences grow in the order of import; they leave gaps where other records stood between.
 */
export async function mergeEvents(draft: Draft, staging: Staging, basis: Basis): Promise<MergedEvents> {
  const { survey } = staging;
  await draft.add('kinds', 'ix, type, action', staging.isWhole('events') ? NEW_KINDS : NEW_KINDS_IN_USE);
  const known = await findKnown(draft, survey, basis);
  const unknown = known > 0 ? 'NOT EXISTS (SELECT FROM known_events k WHERE k.n = s.n)' : 'true';
  const offset = nextSequence(basis) - (await firstNumber(draft, staging));
  // What is the same for all is put to them after they are sorted.
  const found = (where: string) => `
    SELECT ${draft.organization} AS organization, ${offset} + n AS sequence, ${draft.publication} AS publication,
      id, kind, actor, "owner", board, pin, timestamp_ms
    FROM (${resolved(`${unknown} AND ${where}`)} ORDER BY timestamp_ms, n) r`;
  const years = await missingYears(draft.session, survey.years);
  const isAllComing = years.length === survey.years.size && !survey.hasOtherYears;
  await draft.keep('added_events', found(isAllComing ? 'false' : `NOT ${ofYears(years)}`));
  const coming = years.length === 0 ? undefined : await fillComing(draft, years, found(ofYears(years)));
  await draft.run(`CREATE TEMP VIEW new_events AS ${newEvents(coming)}`);
  if (known === 0 && staging.isWhole('events')) {
    draft.tellNewEvents({ count: staging.count('events'), lastSequence: offset + survey.lastNumber });
  }
  const { count } = await draft.newEvents();
  return { change: { added: count, changed: 0, unchanged: known }, coming };
}

export interface MergedEvents {
  readonly change: Change;
  /** The years that this publication brings; absent when there are none. */
  readonly coming: ComingYears | undefined;
}

/** The number of the first event of those that are left, from which sequences are counted, as in the other store. */
async function firstNumber(draft: Draft, staging: Staging): Promise<number> {
  if (staging.isWhole('events')) return staging.survey.firstNumber;
  const [row] = await draft.rows('SELECT coalesce(min(n), 1) FROM staged_events');
  return Number(row?.[0]);
}

async function fillComing(draft: Draft, years: readonly number[], events: string): Promise<ComingYears> {
  const coming = await ComingYears.create(draft.session, draft.organization, years);
  await draft.run(`INSERT INTO ${coming.table} (${COLUMNS}) ${events}`);
  await coming.index();
  await draft.run(`ANALYZE ${coming.table}`);
  // What is alive of events is what was published, and these.
  await draft.run(`CREATE OR REPLACE TEMP VIEW events AS
    SELECT * FROM corkboard.events WHERE organization = ${draft.organization}
    UNION ALL SELECT * FROM ${coming.table}`);
  return coming;
}

function newEvents(coming: ComingYears | undefined): string {
  const columns = 'sequence, kind, actor, "owner", board, pin, timestamp_ms';
  const also = coming === undefined ? '' : `UNION ALL SELECT ${columns} FROM ${coming.table}`;
  return `SELECT ${columns} FROM added_events ${also}`;
}

const COLUMNS = 'organization, sequence, publication, id, kind, actor, "owner", board, pin, timestamp_ms';

/** Writes new events into the partitions that are there, in the order of time: so their indexes grow fast. */
export async function insertEvents({ session }: Draft): Promise<void> {
  await session.run(`INSERT INTO corkboard.events (${COLUMNS}) SELECT ${COLUMNS} FROM added_events`);
}

/** Kinds are numbered in the order in which they come first. */
const NEW_KINDS = newKinds('s.kind', 'staged_kinds s');

/** The same of the events that are left: kinds that only the others had are no news. Reads all of them. */
const NEW_KINDS_IN_USE = newKinds(
  'used.first',
  'staged_kinds s JOIN (SELECT kind, min(n) AS first FROM staged_events GROUP BY kind) used USING (kind)',
);

function newKinds(order: string, staged: string): string {
  return `
    SELECT (SELECT count(*) FROM kinds) + row_number() OVER (ORDER BY ${order}) - 1, s.type, s.action
    FROM ${staged}
    WHERE NOT EXISTS (SELECT FROM kinds k WHERE k.type = s.type AND k.action = s.action)`;
}

/**
 * Staged events with indices instead of places. An array for each thing, by place, is looked up in a fraction of the
 * time that a join takes.
 */
function resolved(where: string): string {
  return `
    SELECT s.n, s.id, ${KINDS}[s.kind + 1] AS kind, ${indicesOf('users')}[s.actor + 1] AS actor,
      ${indicesOf('users')}[s."owner" + 1] AS "owner", ${indicesOf('boards')}[s.board + 1] AS board,
      ${indicesOf('pins')}[s.pin + 1] AS pin, s.timestamp_ms
    FROM staged_events s WHERE ${where}`;
}

/** Places begin at 0, arrays at 1. Without nulls, which would make an array slow: what is unknown has no event. */
function indicesOf(thing: 'users' | 'boards' | 'pins'): string {
  return `(SELECT array_agg(coalesce(t.ix, -1) ORDER BY m.number)
    FROM staged_names m LEFT JOIN ${thing} t ON t.id = m.id WHERE m.thing = '${thing}')`;
}

const KINDS = `(SELECT array_agg(coalesce(k.ix, -1) ORDER BY s.kind)
  FROM staged_kinds s LEFT JOIN kinds k USING (type, action))`;

/** Writes the numbers of staged events that are known to the table `known_events`; answers how many they are. */
async function findKnown(draft: Draft, survey: EventSurvey, { counts }: Basis): Promise<number> {
  const queries: string[] = [];
  if (survey.idsGoBack) queries.push(REPEATED_IDS);
  if (counts.events > 0 && survey.hasIds) queries.push(PUBLISHED_IDS);
  if (counts.events > 0 && survey.hasAnonymous) {
    await draft.keep('anonymous_events', resolved('s.id IS NULL'));
    queries.push(PUBLISHED_REPEATS);
  }
  if (queries.length === 0) return 0;
  await draft.keep('known_events', queries.join(' UNION '));
  const [known] = await draft.count(['known_events']);
  return known;
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
