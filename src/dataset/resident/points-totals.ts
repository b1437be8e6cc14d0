/**
 * Points totals of users on boards in memory, with and without a range (decisions 10, 25, 26, 37,
 * 71).
 */
import { type BoardPolicy, policyOf, readPolicy } from '../../points/policy.ts';
import { participationScore, totalPoints } from '../../points/score.ts';
import { inSlices, slice } from '../../system/time-slice.ts';
import { joinDoubles, joinFlags, joinIntegers } from '../columns.ts';
import { firstPlace } from '../first-place.ts';
import {
  isBounded,
  isEmptyRange,
  type PointsQuery,
  type Standings,
  type StandingsQuery,
  type TimeRange,
} from '../query.ts';
import type { EarningRows, StandingRows } from '../tables.ts';
import { AwardHistory, type Earned } from './award-history.ts';
import type { IdIndex } from './id-index.ts';
import { findPointsRows, type PointsIds } from './points-rows.ts';
import { indexRows, orderRows, placesOf, type RowIndex } from './row-index.ts';
import type { View } from './scope-mask.ts';

const NO_ONE: Standings = standingsOf(0);
/** Sums between two checks of the clock; each sum takes two searches. */
const SUMS_AT_ONCE = 1_024;

/** Sorts points totals and their awards. `policy` is the policy of the version as text. */
export async function orderStandings(
  parts: readonly StandingRows[],
  earned: AsyncIterable<EarningRows>,
  users: IdIndex,
  boards: IdIndex,
  policy: string,
): Promise<PointsIndex> {
  const { imported: flags, ...read } = await joinStandings(parts);
  const byBoard = await indexRows(read.board, boards.count);
  await orderRows(byBoard, (row) => users.ranks[read.user[row]!]!);
  const standings = standingsOf(read.count);
  const imported = new Uint8Array(read.count);
  await inSlices(0, read.count, (from, to) => {
    gather(read, byBoard.rows, standings, from, to);
    for (let row = from; row < to; row++) imported[row] = flags[byBoard.rows[row]!]!;
  });
  const byUser = await indexByUser(standings, users, boards);
  const ordered = { standings, offsets: byBoard.offsets, byUser };
  return new PointsIndex({
    ...ordered,
    imported,
    earnings: await readEarnings(earned, { ...ordered, imported }, users),
    policyOf: readPolicies(policy, boards),
  });
}

/** The rows of each user, ascending by board id. */
export async function indexByUser(standings: Standings, users: IdIndex, boards: IdIndex): Promise<RowIndex> {
  const byUser = await indexRows(standings.user, users.count);
  // The rows are in the order of the boards, so those of each user are, too.
  if (!(await boards.isInOrder())) await orderRows(byUser, (row) => boards.ranks[standings.board[row]!]!);
  return byUser;
}

async function readEarnings(
  earned: AsyncIterable<EarningRows>,
  totals: Pick<TotalsHeld, 'standings' | 'offsets' | 'imported'>,
  users: IdIndex,
): Promise<AwardHistory> {
  const parts: Earned[] = [];
  for await (const batch of earned) {
    if (slice.isOver()) await slice.pass();
    parts.push(earnedOf(batch, totals, users));
  }
  return await AwardHistory.of(parts, totals.standings.count);
}

/** Leaves out the rows of users who have no points total on the board, or an imported one. */
function earnedOf(
  { board, user, timestampMs, points }: EarningRows,
  totals: Pick<TotalsHeld, 'standings' | 'offsets' | 'imported'>,
  users: IdIndex,
): Earned {
  const standing: number[] = [];
  const rows: number[] = [];
  for (let row = 0; row < board.length; row++) {
    const { place, found } = findStanding(totals, users, board[row]!, user[row]!);
    if (!found || totals.imported[place] === 1) continue;
    standing.push(place);
    rows.push(row);
  }
  return {
    standing: Int32Array.from(standing),
    timestampMs: Float64Array.from(rows, (row) => timestampMs[row]!),
    points: Float64Array.from(rows, (row) => points[row]!),
  };
}

/** The position of the points total of a pair, or the position at which it would be inserted. */
function findStanding(
  { standings, offsets }: Pick<OrderedTotals, 'standings' | 'offsets'>,
  { ranks }: IdIndex,
  board: number,
  user: number,
): { readonly place: number; readonly found: boolean } {
  const from = offsets[board] ?? standings.count;
  const to = offsets[board + 1] ?? standings.count;
  const rank = ranks[user]!;
  const place = firstPlace(from, to, (row) => ranks[standings.user[row]!]! >= rank);
  return { place, found: place < to && standings.user[place] === user };
}

/** The policy of a board by its index (decision 23). */
export function readPolicies(text: string, boards: IdIndex): (board: number) => BoardPolicy {
  const policy = readPolicy(text);
  const own = new Map<number, BoardPolicy>();
  for (const id of policy.boards.keys()) {
    const board = boards.find(id);
    if (board !== undefined) own.set(board, policyOf(policy, id));
  }
  return (board) => own.get(board) ?? policy.default;
}

export interface OrderedTotals {
  /**
   * Board by board, ascending by user id within each: those of board `b` are at
   * `[offsets[b], offsets[b + 1])`.
   */
  readonly standings: Standings;
  readonly offsets: Int32Array;
  /** The rows of each user, ascending by board id. */
  readonly byUser: RowIndex;
}

export interface TotalsHeld extends OrderedTotals {
  /** By row: 1 if the points total is imported. */
  readonly imported: Uint8Array;
  readonly earnings: AwardHistory;
  readonly policyOf: (board: number) => BoardPolicy;
}

export class PointsIndex {
  readonly held: TotalsHeld;

  constructor(held: TotalsHeld) {
    this.held = held;
  }

  /**
   * `isWithin` says whether the range contains every event on a board that is inside the scope. It
   * is called only for boards inside the scope.
   */
  async answer(
    { of, range }: Omit<StandingsQuery, 'scope'>,
    view: View,
    isWithin: (board: number) => Promise<boolean>,
  ): Promise<Standings> {
    // An empty range returns no users, rather than all users with a total of 0 (decision 5).
    return isEmptyRange(range) ? NO_ONE : await this.#gathered(await this.#rowsOf(of, view), range, isWithin);
  }

  /** The points totals of several boards, by board id, then user id. */
  async *stream(
    query: Omit<PointsQuery, 'scope'>,
    view: View,
    ids: PointsIds,
    isWithin: (board: number) => Promise<boolean>,
  ): AsyncGenerator<Standings, void> {
    const { range } = query;
    if (isEmptyRange(range)) return;
    const isBoardWithin = rememberLatest(isWithin);
    for await (const rows of findPointsRows(this.held, ids, query, view)) {
      yield await this.#gathered(rows, range, isBoardWithin);
      if (slice.isOver()) await slice.pass();
    }
  }

  async #gathered(
    rows: Int32Array,
    range: TimeRange,
    isWithin: (board: number) => Promise<boolean>,
  ): Promise<Standings> {
    const standings = standingsOf(rows.length);
    await inSlices(0, rows.length, (from, to) => gather(this.held.standings, rows, standings, from, to));
    if (isBounded(range))
      await this.#cutToRange(standings, rows, range, await this.#importedWithin(rows, isWithin));
    return standings;
  }

  /**
   * Boards of the rows with imported points totals that count, because the range excludes none of
   * their events.
   */
  async #importedWithin(
    rows: Int32Array,
    isWithin: (board: number) => Promise<boolean>,
  ): Promise<ReadonlySet<number>> {
    const { standings, imported } = this.held;
    const boards = new Set<number>();
    await inSlices(0, rows.length, (from, to) => {
      for (let place = from; place < to; place++) {
        if (imported[rows[place]!] === 1) boards.add(standings.board[rows[place]!]!);
      }
    });
    for (const board of boards) if (!(await isWithin(board))) boards.delete(board);
    return boards;
  }

  /** The rows inside the scope. */
  async #rowsOf(of: StandingsQuery['of'], { boards, people }: View): Promise<Int32Array> {
    const { standings, byUser } = this.held;
    const rows = 'user' in of ? byUser.rows : undefined;
    const { from, to } =
      'user' in of ? placesOf(byUser.offsets, of.user) : placesOf(this.held.offsets, of.board);
    const found = new Int32Array(to - from);
    let count = 0;
    await inSlices(from, to, (first, end) => {
      for (let place = first; place < end; place++) {
        const row = rows === undefined ? place : rows[place]!;
        if (boards !== undefined && boards[standings.board[row]!] !== 1) continue;
        if (people !== undefined && people[standings.user[row]!] !== 1) continue;
        found[count++] = row;
      }
    });
    return found.subarray(0, count);
  }

  /**
   * Imported points totals are kept only on the boards in `within`; elsewhere they become 0,
   * because no awards are held for them.
   */
  async #cutToRange(
    standings: Standings,
    rows: Int32Array,
    range: TimeRange,
    within: ReadonlySet<number>,
  ): Promise<void> {
    const { earnings, imported, policyOf } = this.held;
    const sum = (from: number, to: number) => {
      for (let place = from; place < to; place++) {
        if (imported[rows[place]!] === 1 && within.has(standings.board[place]!)) continue;
        const total = totalPoints(earnings.sum(rows[place]!, range), 0);
        standings.totalPoints[place] = total;
        standings.participationScore[place] = participationScore(policyOf(standings.board[place]!), total);
      }
    };
    await inSlices(0, rows.length, sum, SUMS_AT_ONCE);
  }
}

/** Remembers what is known of the latest board, whose rows can be in several batches. */
function rememberLatest(isWithin: (board: number) => Promise<boolean>): (board: number) => Promise<boolean> {
  let latest: { readonly board: number; readonly within: Promise<boolean> } | undefined;
  return (board) => {
    if (latest?.board !== board) latest = { board, within: isWithin(board) };
    return latest.within;
  };
}

function standingsOf(count: number): Standings {
  return {
    count,
    user: new Int32Array(count),
    board: new Int32Array(count),
    totalPoints: new Float64Array(count),
    participationScore: new Float64Array(count),
  };
}

async function joinStandings(
  parts: readonly StandingRows[],
): Promise<Standings & Pick<TotalsHeld, 'imported'>> {
  return {
    count: parts.reduce((sum, part) => sum + part.count, 0),
    user: await joinIntegers(parts.map((part) => part.user)),
    board: await joinIntegers(parts.map((part) => part.board)),
    totalPoints: await joinDoubles(parts.map((part) => part.totalPoints)),
    participationScore: await joinDoubles(parts.map((part) => part.participationScore)),
    imported: await joinFlags(parts.map(({ imported }) => imported)),
  };
}

/** Copies the rows listed at `[from, to)` of `rows` to the same positions of `target`. */
function gather(source: Standings, rows: Int32Array, target: Standings, from: number, to: number): void {
  for (let place = from; place < to; place++) {
    const row = rows[place]!;
    target.user[place] = source.user[row]!;
    target.board[place] = source.board[row]!;
    target.totalPoints[place] = source.totalPoints[row]!;
    target.participationScore[place] = source.participationScore[row]!;
  }
}
