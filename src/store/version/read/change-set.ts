/** Reads the changes of a version since an earlier one (decisions 19, 54). */
import type { EventQuery, Revisions } from '../../../dataset/query.ts';
import type { Scope } from '../../../domain/scope.ts';
import type { UserClock } from '../../../domain/user-clocks.ts';
import { bigint } from '../../stored-values.ts';
import { type Database, joinedDoubles, joinedIntegers } from '../database.ts';
import { inScope, ofDeletedEvents } from './conditions.ts';

export async function readRevisions(
  database: Database,
  sequence: number,
  clock: UserClock,
): Promise<Revisions> {
  const after = async (table: 'users' | 'boards' | 'pins', column: string) => {
    const later = { sequence: BigInt(sequence) };
    return await joinedIntegers(
      await database.chunks(`SELECT ix FROM ${table} WHERE ${column} > $sequence`, later),
      0,
    );
  };
  const people = await after('users', clock);
  const [boards, pins] = [await after('boards', 'revised'), await after('pins', 'revised')];
  return { sequence, clock, people, boards, pins };
}

/** Ids of erased users, ascending. With `of-boards`: those who were on a visible board. */
export async function readForgotten(
  database: Database,
  scope: Scope,
  sequence: number,
): Promise<readonly bigint[]> {
  const seen =
    scope.users === 'of-boards'
      ? inScope({ ...scope, users: 'all' }, { board: 'board' })
      : inScope(scope, { people: ['ix'] });
  const where =
    scope.users === 'of-boards' ? `ix IN (SELECT person FROM forgotten_boards WHERE ${seen.sql})` : seen.sql;
  const rows = await database.rows(
    `SELECT id FROM users WHERE forgotten AND revised > $sequence AND ${where} ORDER BY id`,
    { sequence: BigInt(sequence), ...seen.parameters },
  );
  return rows.map(([id]) => bigint(id));
}

/**
 * Sequences of events of the query that were deleted since `sequence`, ascending. Also of events
 * that were added since: a client that was stopped between two pages may have them.
 */
export async function readDeletedEvents(
  database: Database,
  query: Omit<EventQuery, 'limit'>,
  sequence: number,
  most: number,
): Promise<Float64Array> {
  const where = ofDeletedEvents(query);
  const chunks = await database.chunks(
    `SELECT sequence::DOUBLE FROM deleted_events
     WHERE deleted > $deletedSince AND ${where.sql}
     ORDER BY sequence LIMIT ${Math.trunc(most)}`,
    { deletedSince: BigInt(sequence), ...where.parameters },
  );
  return await joinedDoubles(chunks, 0);
}
