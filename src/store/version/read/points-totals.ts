/** Reads points totals of users on boards from a version (decisions 10, 12, 25, 26, 71). */
import type { DuckDBDataChunk } from '@duckdb/node-api';
import {
  isBounded,
  isEmptyRange,
  type PointsQuery,
  type PointsStart,
  type Standings,
  type StandingsQuery,
} from '../../../dataset/query.ts';
import { participationScoreSql } from '../../../points/score-sql.ts';
import { slice } from '../../../system/time-slice.ts';
import {
  type Database,
  doubleColumn,
  integerColumn,
  joinedDoubles,
  joinedIntegers,
  type StatementParameters,
} from '../database.ts';
import { inBulkLane } from '../parquet/bulk-lane.ts';
import { allOf, type Condition, inRange, inScope, ofEvents, outOfRange } from './conditions.ts';

export async function readStandings(database: Database, query: StandingsQuery): Promise<Standings> {
  const of: Condition =
    'board' in query.of
      ? { sql: 'board = $board', parameters: { board: BigInt(query.of.board) } }
      : { sql: 'person = $person', parameters: { person: BigInt(query.of.user) } };
  const { sql, parameters } = standingsSql({ ...query, ...query.of }, of);
  // An empty range has an empty result, not all users with 0 points (decision 5).
  const chunks = isEmptyRange(query.range)
    ? []
    : await database.chunks(`${sql} ORDER BY user_id, board_id`, parameters);
  return {
    count: chunks.reduce((sum, chunk) => sum + chunk.rowCount, 0),
    user: await joinedIntegers(chunks, 0),
    board: await joinedIntegers(chunks, 1),
    totalPoints: await joinedDoubles(chunks, 2),
    participationScore: await joinedDoubles(chunks, 3),
  };
}

/** Approximate number of points totals in a slice: 3 MB of columns. A large board is one slice. */
const SLICE_ROWS = 131_072;

/**
 * Divides the boards, ascending by id, into slices of about `rowsOfSlice` points totals. Returns
 * the last id of each slice except the last.
 */
export async function readPointsSlices(database: Database, rowsOfSlice = SLICE_ROWS): Promise<BigInt64Array> {
  const rows = await database.rows(
    `SELECT max(id) AS cut FROM (
       SELECT id, sum(count) OVER (ORDER BY id) // ${rowsOfSlice} AS part
       FROM (SELECT board, count(*) AS count FROM standings GROUP BY board) JOIN boards ON ix = board
     ) GROUP BY part ORDER BY cut`,
  );
  return BigInt64Array.from(rows.slice(0, -1), ([cut]) => BigInt(cut as bigint));
}

/** Batches of at most 2,048 points totals, by board id, then user id. Reads slice by slice. */
export async function* streamPoints(
  database: Database,
  query: PointsQuery,
  findSlices: () => Promise<BigInt64Array>,
): AsyncGenerator<Standings, void> {
  const { range, board, user, after, limit } = query;
  if (isEmptyRange(range)) return;
  const isOfOne = board !== undefined || user !== undefined;
  const slices = isOfOne ? [ofPair(query)] : slicesOf(await findSlices(), after);
  let left = limit ?? Number.POSITIVE_INFINITY;
  for (const of of slices) {
    const { sql, parameters } = standingsSql(query, of, after);
    const most = limit === undefined ? '' : ` LIMIT ${Math.trunc(left)}`;
    const read = () => database.chunks(`${sql} ORDER BY board_id, user_id${most}`, parameters);
    for (const chunk of await (limit === undefined ? inBulkLane(read) : read())) {
      yield batchOf(chunk);
      left -= chunk.rowCount;
      if (slice.isOver()) await slice.pass();
    }
    if (left === 0) return;
  }
}

function ofPair({ board, user }: PointsQuery): Condition {
  return allOf(
    ...(board === undefined ? [] : [{ sql: 'board = $board', parameters: { board: BigInt(board) } }]),
    ...(user === undefined ? [] : [{ sql: 'person = $person', parameters: { person: BigInt(user) } }]),
  );
}

/** The boards of each slice; those before a place are left out. */
function* slicesOf(cuts: BigInt64Array, after: PointsStart | undefined): Generator<Condition, void> {
  let terms = after === undefined ? [] : ['id >= $sliceFrom'];
  let parameters: StatementParameters = after === undefined ? {} : { sliceFrom: after.boardId };
  for (const cut of [...cuts, undefined]) {
    if (cut !== undefined && after !== undefined && cut < after.boardId) continue;
    if (cut !== undefined) {
      terms = [...terms, 'id <= $sliceTo'];
      parameters = { ...parameters, sliceTo: cut };
    }
    if (terms.length === 0) yield { sql: 'true', parameters };
    else yield { sql: `board IN (SELECT ix FROM boards WHERE ${terms.join(' AND ')})`, parameters };
    if (cut === undefined) return;
    terms = ['id > $sliceFrom'];
    parameters = { sliceFrom: cut };
  }
}

function afterPlace(after: PointsStart | undefined): Condition {
  if (after === undefined) return { sql: 'true', parameters: {} };
  const { boardId, userId } = after;
  if (userId === undefined) return { sql: 'board_id >= $afterBoard', parameters: { afterBoard: boardId } };
  const sql = 'board_id > $afterBoard OR (board_id = $afterBoard AND user_id > $afterUser)';
  return { sql, parameters: { afterBoard: boardId, afterUser: userId } };
}

/** The points totals of a part of the boards and users that are inside the scope, in no order. */
function standingsSql(
  query: Pick<PointsQuery, 'scope' | 'range' | 'board'>,
  of: Condition,
  after?: PointsStart,
): Condition {
  const { range, scope } = query;
  const where = allOf(of, inScope(scope, { board: 'board', people: ['person'] }), afterPlace(after));
  const ranged = isBounded(range)
    ? rangedStandings(query, of)
    : { sql: 'SELECT * FROM standings', parameters: {} };
  const sql = `SELECT person, board, total_points::DOUBLE, participation_score::DOUBLE
     FROM (${ranged.sql})
     JOIN (SELECT ix, id AS user_id FROM users) u ON u.ix = person
     JOIN (SELECT ix, id AS board_id FROM boards) b ON b.ix = board
     WHERE ${where.sql}`;
  return { sql, parameters: { ...where.parameters, ...ranged.parameters } };
}

function batchOf(chunk: DuckDBDataChunk): Standings {
  return {
    count: chunk.rowCount,
    user: integerColumn(chunk, 0),
    board: integerColumn(chunk, 1),
    totalPoints: doubleColumn(chunk, 2),
    participationScore: doubleColumn(chunk, 3),
  };
}

/**
 * Points totals from the awards and adjustments inside a range. Imported totals have no time: they
 * count on boards where the range contains every event that is visible in the scope (decision 71).
 */
function rangedStandings(
  { scope, range, board }: Pick<PointsQuery, 'scope' | 'range' | 'board'>,
  ofAsked: Condition,
): Condition {
  const inside = inRange(range, 'timestamp_ms');
  const earned = (from: string, counts: string) =>
    `SELECT board, person, points FROM ${from} WHERE ${ofAsked.sql} AND ${inside.sql} AND ${counts}`;
  const seen = ofEvents({ scope, range: {}, ...(board === undefined ? {} : { board }) });
  const sql = `
    WITH imported AS (SELECT * FROM imported_points WHERE ${ofAsked.sql}),
    cut_boards AS (
      SELECT DISTINCT board FROM board_events
      WHERE board IN (SELECT board FROM imported) AND ${seen.sql} AND (${outOfRange(range, 'timestamp_ms')})
    ),
    counted AS (FROM imported ANTI JOIN cut_boards USING (board)),
    totals AS (
      SELECT s.board, s.person,
        CASE WHEN i.person IS NULL THEN greatest(coalesce(sum(e.points), 0), 0) ELSE 0 END::BIGINT AS total_points
      FROM (SELECT board, person FROM standings WHERE ${ofAsked.sql}) s
      LEFT JOIN (
        ${earned('awards', "outcome = 'counted'")} UNION ALL ${earned('adjustments', 'true')}
      ) e ON e.board = s.board AND e.person = s.person
      LEFT JOIN imported i ON i.board = s.board AND i.person = s.person
      GROUP BY s.board, s.person, i.person
    )
    SELECT board, person, coalesce(c.total_points, t.total_points) AS total_points,
      coalesce(c.participation_score, ${participationScoreSql('t.total_points', '//')}) AS participation_score
    FROM totals t JOIN board_policies USING (board) JOIN policies USING (policy)
    LEFT JOIN counted c USING (board, person)`;
  return { sql, parameters: { ...ofAsked.parameters, ...inside.parameters, ...seen.parameters } };
}
