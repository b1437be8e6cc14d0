/**
 * Points totals of users on boards in memory, with and without a range (decisions 10, 25, 26, 37,
 * 71).
 */
import { type BoardPolicy, policyOf, readPolicy } from '../../points/policy.ts';
import { participationScore, totalPoints } from '../../points/score.ts';
import { inSlices, slice } from '../../system/time-slice.ts';
import { joinDoubles, joinFlags, joinIntegers } from '../columns.ts';
import {
  isBounded,
  isEmptyRange,
  type PointsQuery,
  type Standings,
  type StandingsQuery,
  type TimeRange,
} from '../query.ts';
import { growable } from '../shared-arrays.ts';
import type { EarningRows, StandingRows } from '../tables.ts';
import { AwardHistory, type Earned } from './award-history.ts';
import type { IdIndex } from './id-index.ts';
import { findTotal, indexBoards, type OrderedTotals, type PointsIds } from './ordered-totals.ts';
import { findPointsRows } from './points-rows.ts';
import { indexRows, orderRows, rowsOf } from './row-index.ts';
import type { View } from './scope-mask.ts';
import { sectionOf } from './sections.ts';

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
  const totals = await orderTotals(parts, earned, { users, boards });
  const boardsByUser = await indexBoards(totals.standings, totals.ids);
  return new PointsIndex({ ...totals, boardsByUser, policyOf: readPolicies(policy, boards) });
}

/** As `orderStandings`, without what is known of all boards. */
export async function orderTotals(
  parts: readonly StandingRows[],
  earned: AsyncIterable<EarningRows> | Iterable<EarningRows>,
  ids: PointsIds,
): Promise<Omit<TotalsHeld, 'boardsByUser' | 'policyOf'>> {
  const { users, boards } = ids;
  const { imported: flags, ...read } = await joinStandings(parts);
  const byBoard = await indexRows(read.board, boards.count);
  await orderRows(byBoard, (row) => users.ranks[read.user[row]!]!);
  const standings = heldStandings(read.count);
  const imported = growable(Uint8Array, read.count);
  await inSlices(0, read.count, (from, to) => {
    gather(read, byBoard.rows, standings, from, to);
    for (let row = from; row < to; row++) imported[row] = flags[byBoard.rows[row]!]!;
  });
  const { offsets } = byBoard;
  const sections = { starts: offsets.subarray(0, -1), ends: offsets.subarray(1) };
  const ordered = { ids, standings, sections, imported };
  return { ...ordered, earnings: await readEarnings(earned, ordered) };
}

type TotalsSearched = Omit<OrderedTotals, 'boardsByUser'> & Pick<TotalsHeld, 'imported'>;

async function readEarnings(
  earned: AsyncIterable<EarningRows> | Iterable<EarningRows>,
  totals: TotalsSearched,
): Promise<AwardHistory> {
  const parts: Earned[] = [];
  for await (const batch of earned) {
    if (slice.isOver()) await slice.pass();
    parts.push(earnedOf(batch, totals));
  }
  return await AwardHistory.of(parts, totals.standings.count);
}

/** Leaves out the rows of users who have no points total on the board, or an imported one. */
function earnedOf({ board, user, timestampMs, points }: EarningRows, totals: TotalsSearched): Earned {
  const standing: number[] = [];
  const rows: number[] = [];
  for (let row = 0; row < board.length; row++) {
    const total = findTotal(totals, board[row]!, user[row]!);
    if (!total.isFound || totals.imported[total.row] === 1) continue;
    standing.push(total.row);
    rows.push(row);
  }
  return {
    standing: Int32Array.from(standing),
    timestampMs: Float64Array.from(rows, (row) => timestampMs[row]!),
    points: Float64Array.from(rows, (row) => points[row]!),
  };
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
    isWithin: (board: number) => Promise<boolean>,
  ): AsyncGenerator<Standings, void> {
    const { range } = query;
    if (isEmptyRange(range)) return;
    const isBoardWithin = rememberLatest(isWithin);
    for await (const rows of findPointsRows(this.held, query, view)) {
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
    const { standings, boardsByUser, sections } = this.held;
    const ofUser = 'user' in of ? rowsOf(boardsByUser, of.user) : undefined;
    const { from, to } = 'board' in of ? sectionOf(sections, of.board) : { from: 0, to: ofUser!.length };
    const found = new Int32Array(to - from);
    let count = 0;
    await inSlices(from, to, (first, end) => {
      for (let place = first; place < end; place++) {
        const row = 'board' in of ? place : findTotal(this.held, ofUser![place]!, of.user).row;
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

function heldStandings(count: number): Standings {
  return {
    count,
    user: growable(Int32Array, count),
    board: growable(Int32Array, count),
    totalPoints: growable(Float64Array, count),
    participationScore: growable(Float64Array, count),
  };
}

export function standingsOf(count: number): Standings {
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
export function gather(
  source: Standings,
  rows: Int32Array,
  target: Standings,
  from: number,
  to: number,
): void {
  for (let place = from; place < to; place++) {
    const row = rows[place]!;
    target.user[place] = source.user[row]!;
    target.board[place] = source.board[row]!;
    target.totalPoints[place] = source.totalPoints[row]!;
    target.participationScore[place] = source.participationScore[row]!;
  }
}
