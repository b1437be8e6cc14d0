/** How a publication changes points. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { LISTED_CHANGES, type PointsChanges } from '../../store.ts';
import { bigint, text } from '../../stored-values.ts';
import { fillTemporary, runRows } from '../database.ts';

/** Changes the points with `change`, and compares those of all pairs before and after it. */
export async function changesOfPoints(
  connection: DuckDBConnection,
  change: () => Promise<void>,
): Promise<PointsChanges> {
  await fillTemporary(connection, 'standings_before', 'FROM standings');
  await change();
  await fillTemporary(connection, 'changed_standings', CHANGED);
  const [counts] = await runRows(connection, COUNTS);
  const rows = await runRows(connection, `${SELECT_LARGEST} LIMIT ${LISTED_CHANGES}`);
  return {
    users: Number(counts?.[0]),
    boards: Number(counts?.[1]),
    largest: rows.map(([board, title, user, email, ...points]) => {
      const [before = 0, after = 0, scoreBefore = 0, scoreAfter = 0] = points.map(Number);
      return {
        ...{ board: bigint(board), title: text(title), user: bigint(user), email: text(email) },
        before: { totalPoints: before, participationScore: scoreBefore },
        after: { totalPoints: after, participationScore: scoreAfter },
      };
    }),
  };
}

/** A pair without points has no row. */
const CHANGED = `
  SELECT board, person,
    coalesce(old.total_points, 0) AS total_before, coalesce(new.total_points, 0) AS total_after,
    coalesce(old.participation_score, 0) AS score_before,
    coalesce(new.participation_score, 0) AS score_after
  FROM standings_before old FULL JOIN standings new USING (board, person)
  WHERE total_before <> total_after OR score_before <> score_after`;

const COUNTS = 'SELECT count(DISTINCT person), count(DISTINCT board) FROM changed_standings';

const SELECT_LARGEST = `
  SELECT b.id, b.title, u.id, u.email, total_before, total_after, score_before, score_after
  FROM changed_standings c JOIN boards b ON b.ix = c.board JOIN users u ON u.ix = c.person
  ORDER BY abs(total_after - total_before) DESC, abs(score_after - score_before) DESC, board, person`;
