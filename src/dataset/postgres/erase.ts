/**
 * People who were forgotten (decision 54): what is staged about them is left out, and what is published of them goes when
 * they are forgotten, from all versions. Their number stays, for what others did with what was theirs.
 */
import { USER_COLUMNS } from '../merged-columns.ts';
import type { RecordKind } from '../staging.ts';
import type { Draft } from './draft.ts';
import { ALIVE } from './schema.ts';
import type { Staging } from './staging.ts';

/** Those who are, and those whom staged records make so. */
const FORGOTTEN = `
  SELECT id FROM users WHERE forgotten UNION SELECT id FROM staged_users WHERE forgotten = 1`;

const IDS = '(SELECT id FROM forgotten_ids)';

const SAID: Readonly<Partial<Record<RecordKind, string>>> = {
  users: `forgotten IS NULL AND id IN ${IDS}`,
  memberships: `user_id IN ${IDS}`,
  events: `actor IN (SELECT number FROM staged_names WHERE thing = 'users' AND id IN ${IDS})`,
  points: `user_id IN ${IDS}`,
  adjustments: `user_id IN ${IDS}`,
};

/** Takes out of the staging what is said of them; answers how many records that were. */
export async function leaveOutForgotten(draft: Draft, staging: Staging): Promise<number> {
  await draft.keep('forgotten_ids', FORGOTTEN);
  const [forgotten] = await draft.count(['forgotten_ids']);
  if (forgotten === 0) return 0;
  let leftOut = 0;
  for (const [kind, where] of Object.entries(SAID)) {
    const rows = await draft.session.change(`DELETE FROM staged_${kind} WHERE ${where}`);
    if (rows > 0) staging.reduce(kind as RecordKind);
    leftOut += rows;
  }
  return leftOut;
}

export interface Erased {
  readonly events: number;
}

/**
 * Takes away all that is published of people who are forgotten by what was merged, and ends the rows that follow from the
 * records: they have to be made anew from what is left. What names them as a person of an earlier version goes from that
 * version, too. Absent when nobody is forgotten.
 */
export async function eraseForgotten(draft: Draft): Promise<Erased | undefined> {
  await draft.keep('erased', 'SELECT ix FROM altered_users WHERE forgotten');
  const [people] = await draft.count(['erased']);
  if (people === 0) return undefined;
  await draft.keep('erased_events', `SELECT sequence, board FROM events WHERE actor IN ${ERASED}`);
  await draft.add(
    'forgotten_boards',
    'board, person',
    `SELECT board, person FROM board_people WHERE person IN ${ERASED} ORDER BY board, person`,
  );
  const remove = async (table: string, column: string) =>
    await draft.session.change(
      `DELETE FROM corkboard.${table} WHERE organization = ${draft.organization} AND ${column} IN ${ERASED}`,
    );
  for (const table of ['user_properties', 'memberships', 'imported_points', 'adjustments'])
    await remove(table, 'person');
  await draft.run(earlierIdentities(draft.organization));
  for (const table of ['user_created', 'board_created', 'board_people'] as const)
    await draft.end(table, 'true');
  return { events: await remove('events', 'actor') };
}

const ERASED = '(SELECT ix FROM erased)';

/** In earlier versions, too, they are called what they are called now. */
function earlierIdentities(organization: number): string {
  return `
    UPDATE corkboard.users t SET ${USER_COLUMNS.map((column) => `${column} = a.${column}`).join(', ')}
    FROM altered_users a
    WHERE t.organization = ${organization} AND t.ix = a.ix AND a.forgotten AND t.died <> ${ALIVE}`;
}

/** Has the tables that follow from the records made from all of them, not from the new ones alone. */
export async function countAllAsNew(draft: Draft): Promise<void> {
  const { lastSequence } = await draft.newEvents();
  await draft.run(`CREATE OR REPLACE TEMP VIEW new_events AS
    SELECT sequence, kind, actor, "owner", board, pin, timestamp_ms FROM events`);
  const [count] = await draft.count(['events']);
  draft.tellNewEvents({ count, lastSequence });
  await draft.keep('fresh_memberships', 'SELECT board, person FROM memberships');
  await draft.keep(
    'fresh_points',
    'SELECT board, person, total_points, participation_score FROM imported_points',
  );
}

/** Removes what follows from them in earlier versions; to be called when all that follows has been made anew. */
export async function eraseEarlierTraces(draft: Draft): Promise<void> {
  const traces: Readonly<Record<string, string>> = {
    awards: `(person IN ${ERASED} OR sequence IN (SELECT sequence FROM erased_events))`,
    standings: `person IN ${ERASED}`,
    board_people: `person IN ${ERASED}`,
    user_created: `ix IN ${ERASED}`,
    board_created: 'ix IN (SELECT board FROM erased_events)',
  };
  for (const [table, where] of Object.entries(traces)) {
    await draft.run(
      `DELETE FROM corkboard.${table}
       WHERE organization = ${draft.organization} AND died <> ${ALIVE} AND ${where}`,
    );
  }
}
