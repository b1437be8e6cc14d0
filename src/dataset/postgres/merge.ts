/**
 * Merging staged records into what is published (decision 29). Every step returns what it changed, and leaves in
 * temporary tables what the derived tables need to know of it.
 */
import { BOARD_COLUMNS, PIN_COLUMNS } from '../merged-columns.ts';
import type { Change, Changes } from '../store.ts';
import { type Basis, nextSequence } from './basis.ts';
import { joiningRows } from './bulk.ts';
import type { Draft } from './draft.ts';
import { type Erased, eraseForgotten } from './erase.ts';
import { type MergedEvents, mergeEvents } from './merge-events.ts';
import { mergeThings } from './merge-things.ts';
import { mergeUsers } from './merge-users.ts';
import type { Staging } from './staging.ts';

export interface Merged {
  readonly changes: Changes;
  /** The years of events that the publication brings. */
  readonly coming: MergedEvents['coming'];
  /** Of the people who are forgotten by this publication; absent when nobody is. */
  readonly erased: Erased | undefined;
}

/**
 * Merges everything staged; the order matters, since later kinds refer to earlier ones. New events are only found: what
 * is left to do is `insertEvents`, and to attach the years that come.
 */
export async function mergeStaged(draft: Draft, staging: Staging, basis: Basis): Promise<Merged> {
  const { counts } = basis;
  const revised = nextSequence(basis);
  let erased: Erased | undefined;
  const changes: Partial<Record<keyof Changes, Change>> = {};
  let coming: MergedEvents['coming'];
  await joiningRows(draft, staging.total, async () => {
    changes.users = await mergeUsers(draft, counts.users, revised);
    erased = await eraseForgotten(draft);
    changes.boards = await mergeThings(draft, 'boards', counts.boards, BOARD_COLUMNS, revised);
    changes.pins = await mergePins(draft, counts.pins, revised);
    changes.memberships = await mergeMemberships(draft);
    const events = await mergeEvents(draft, staging, basis);
    changes.events = events.change;
    coming = events.coming;
    changes.points = await mergePoints(draft);
    changes.adjustments = await mergeAdjustments(draft);
  });
  return { changes: changes as Changes, coming, erased };
}

async function mergePins(draft: Draft, held: number, revised: number): Promise<Change> {
  return await mergeThings(
    draft,
    'pins',
    held,
    PIN_COLUMNS,
    revised,
    `(SELECT s.*, b.ix AS board, u.ix AS "owner" FROM staged_pins s
      LEFT JOIN boards b ON b.id = s.board_id LEFT JOIN users u ON u.id = s.owner_id)`,
  );
}

/** Leaves what is new as the table `fresh_memberships`. */
async function mergeMemberships(draft: Draft): Promise<Change> {
  await draft.keep(
    'resolved',
    `SELECT b.ix AS board, u.ix AS person FROM
       (SELECT DISTINCT board_id, user_id FROM staged_memberships) s
     JOIN boards b ON b.id = s.board_id JOIN users u ON u.id = s.user_id`,
  );
  await draft.keep(
    'fresh_memberships',
    `SELECT r.* FROM resolved r
     WHERE NOT EXISTS (SELECT FROM memberships m WHERE m.board = r.board AND m.person = r.person)`,
  );
  const [added, all] = await draft.count(['fresh_memberships', 'resolved']);
  await draft.add(
    'memberships',
    'board, person',
    'SELECT board, person FROM fresh_memberships ORDER BY board, person',
  );
  return { added, changed: 0, unchanged: all - added };
}

/**
 * Leaves what is new as the table `fresh_adjustments`. Adjustments are the same when all fields are equal and they are
 * the same repeat of them: of `k` equal ones those are new that come after the ones already published.
 */
async function mergeAdjustments(draft: Draft): Promise<Change> {
  await draft.keep(
    'resolved',
    `SELECT s.n, b.ix AS board, u.ix AS person, s.points, s.timestamp_ms, s.reason,
       row_number() OVER (PARTITION BY board_id, user_id, points, timestamp_ms, reason ORDER BY n) AS repeat
     FROM staged_adjustments s JOIN boards b ON b.id = s.board_id JOIN users u ON u.id = s.user_id`,
  );
  await draft.keep(
    'fresh_adjustments',
    `SELECT r.* FROM resolved r
     LEFT JOIN (
       SELECT board, person, points, timestamp_ms, reason, count(*) AS held
       FROM adjustments a JOIN (SELECT DISTINCT board, person FROM resolved) named USING (board, person)
       GROUP BY board, person, points, timestamp_ms, reason
     ) h USING (board, person, points, timestamp_ms, reason)
     WHERE repeat > coalesce(held, 0)`,
  );
  const [added, all] = await draft.count(['fresh_adjustments', 'resolved']);
  await draft.add(
    'adjustments',
    'board, person, points, timestamp_ms, reason, place',
    `SELECT board, person, points, timestamp_ms, reason,
       (SELECT coalesce(max(place), 0) FROM adjustments) + row_number() OVER (ORDER BY n)
     FROM fresh_adjustments ORDER BY n`,
  );
  return { added, changed: 0, unchanged: all - added };
}

/** Imported figures replace earlier ones of the same user and board (decision 26). Leaves them as `fresh_points`. */
async function mergePoints(draft: Draft): Promise<Change> {
  await draft.keep(
    'resolved',
    `SELECT DISTINCT ON (b.ix, u.ix) b.ix AS board, u.ix AS person, s.total_points, s.participation_score
     FROM staged_points s JOIN boards b ON b.id = s.board_id JOIN users u ON u.id = s.user_id
     ORDER BY b.ix, u.ix, s.n DESC`,
  );
  await draft.keep(
    'fresh_points',
    `SELECT r.* FROM resolved r WHERE NOT EXISTS (
       SELECT FROM imported_points p WHERE p.board = r.board AND p.person = r.person
         AND p.total_points = r.total_points AND p.participation_score = r.participation_score)`,
  );
  const [fresh, all] = await draft.count(['fresh_points', 'resolved']);
  const changed = await draft.end(
    'imported_points',
    'EXISTS (SELECT FROM fresh_points f WHERE f.board = t.board AND f.person = t.person)',
  );
  await draft.add(
    'imported_points',
    'board, person, total_points, participation_score',
    'SELECT board, person, total_points, participation_score FROM fresh_points ORDER BY board, person',
  );
  return { added: fresh - changed, changed, unchanged: all - fresh };
}
