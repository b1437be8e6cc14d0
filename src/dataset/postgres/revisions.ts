/** What has changed in a version since an earlier one (decisions 19, 54). */
import type { Revisions } from '../query.ts';
import type { Scope } from '../scope.ts';
import type { UserClock } from '../user-clocks.ts';
import { inScope, int8 } from './conditions.ts';
import type { Asking } from './database.ts';
import { type At, rowsAt } from './schema.ts';
import { wholeColumns } from './whole-columns.ts';

export async function readRevisions(
  database: Asking,
  at: At,
  sequence: number,
  clock: UserClock,
): Promise<Revisions> {
  // No clock is ahead of "revised", by which the rows lie in order.
  const after = async (table: 'users' | 'boards' | 'pins', column: string) => {
    const later = `revised > ${int8(sequence)} AND ${column} > ${int8(sequence)}`;
    const sql = `SELECT ix FROM ${rowsAt(at, table)} WHERE ${later}`;
    return (await wholeColumns(database, sql, ['int4'])).columns[0];
  };
  const people = await after('users', clock);
  const [boards, pins] = [await after('boards', 'revised'), await after('pins', 'revised')];
  return { sequence, clock, people, boards, pins };
}

/** With `of-boards` those are meant who were on a visible board. */
export async function readForgotten(
  database: Asking,
  at: At,
  scope: Scope,
  sequence: number,
): Promise<readonly bigint[]> {
  const onBoards = inScope(at, { ...scope, users: 'all' }, { board: 'board' });
  const seen =
    scope.users === 'of-boards'
      ? `ix IN (SELECT person FROM ${rowsAt(at, 'forgotten_boards')} WHERE ${onBoards})`
      : inScope(at, scope, { people: ['ix'] });
  const { columns } = await wholeColumns(
    database,
    `SELECT id FROM ${rowsAt(at, 'users')}
     WHERE forgotten AND revised > ${int8(sequence)} AND ${seen} ORDER BY id`,
    ['int8'],
  );
  return Array.from(columns[0]);
}
