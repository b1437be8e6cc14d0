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
const NOTHING = { total: 0, score: 0 };
/** Sums between two checks of the clock; a sum takes up to two searches. */
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
  const boardsByUser = await indexBoards(totals.pairs, totals.ids);
  return new PointsIndex({ ...totals, boardsByUser, policyOf: readPolicies(policy, boards) });
}

/** As `orderStandings`, without what is known of all boards. */
export async function orderTotals(
  parts: readonly StandingRows[],
  earned: AsyncIterable<EarningRows> | Iterable<EarningRows>,
  ids: PointsIds,
): Promise<Omit<TotalsHeld, 'boardsByUser' | 'policyOf'>> {
  const { users, boards } = ids;
  const read = await joinStandings(parts);
  const { offsets, rows } = await indexRows(read.board, boards.count);
  await orderRows({ offsets, rows }, (row) => users.ranks[read.user[row]!]!);
  const pairs = { board: growable(Int32Array, read.count), user: growable(Int32Array, read.count) };
  const imported = growable(Uint8Array, read.count);
  let importedCount = 0;
  await inSlices(0, read.count, (from, to) => {
    for (let row = from; row < to; row++) {
      pairs.board[row] = read.board[rows[row]!]!;
      pairs.user[row] = read.user[rows[row]!]!;
      imported[row] = read.imported[rows[row]!]!;
      importedCount += imported[row]!;
    }
  });
  const sections = { starts: offsets.subarray(0, -1), ends: offsets.subarray(1) };
  const ordered = { ids, pairs, sections, imported };
  const entries = [await importedEntries(read, rows, importedCount)];
  for await (const batch of earned) {
    if (slice.isOver()) await slice.pass();
    entries.push(earnedEntries(batch, ordered));
  }
  return { ...ordered, earnings: await AwardHistory.of(entries, read.count) };
}

/** Of the imported points totals, of which there are `count`. Row `r` was read as row `rows[r]`. */
async function importedEntries(read: StandingRows, rows: Int32Array, count: number): Promise<Earned> {
  const row = new Int32Array(count);
  const instantOrScore = new Float64Array(count);
  const points = new Float64Array(count);
  let entry = 0;
  await inSlices(0, rows.length, (from, to) => {
    for (let place = from; place < to; place++) {
      if (read.imported[rows[place]!] !== 1) continue;
      row[entry] = place;
      instantOrScore[entry] = read.participationScore[rows[place]!]!;
      points[entry++] = read.totalPoints[rows[place]!]!;
    }
  });
  return { row, instantOrScore, points };
}

type TotalsSearched = Omit<OrderedTotals, 'boardsByUser'> & Pick<TotalsHeld, 'imported'>;

/** Leaves out the rows of users who have no points total on the board, or an imported one. */
function earnedEntries({ board, user, timestampMs, points }: EarningRows, totals: TotalsSearched): Earned {
  const row: number[] = [];
  const entries: number[] = [];
  for (let entry = 0; entry < board.length; entry++) {
    const total = findTotal(totals, board[entry]!, user[entry]!);
    if (!total.isFound || totals.imported[total.row] === 1) continue;
    row.push(total.row);
    entries.push(entry);
  }
  return {
    row: Int32Array.from(row),
    instantOrScore: Float64Array.from(entries, (entry) => timestampMs[entry]!),
    points: Float64Array.from(entries, (entry) => points[entry]!),
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
  /** By row. Totals and scores are computed from these. */
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
    if (!isBounded(range)) return await readTotals(this.held, rows);
    const within = await this.#importedWithin(rows, isWithin);
    return await readTotals(this.held, rows, range, (board) => within.has(board));
  }

  /**
   * Boards of the rows with imported points totals that count, because the range excludes none of
   * their events.
   */
  async #importedWithin(
    rows: Int32Array,
    isWithin: (board: number) => Promise<boolean>,
  ): Promise<ReadonlySet<number>> {
    const { pairs, imported } = this.held;
    const boards = new Set<number>();
    await inSlices(0, rows.length, (from, to) => {
      for (let place = from; place < to; place++) {
        if (imported[rows[place]!] === 1) boards.add(pairs.board[rows[place]!]!);
      }
    });
    for (const board of boards) if (!(await isWithin(board))) boards.delete(board);
    return boards;
  }

  /** The rows inside the scope. */
  async #rowsOf(of: StandingsQuery['of'], { boards, people }: View): Promise<Int32Array> {
    const { pairs, boardsByUser, sections } = this.held;
    const ofUser = 'user' in of ? rowsOf(boardsByUser, of.user) : undefined;
    const { from, to } = 'board' in of ? sectionOf(sections, of.board) : { from: 0, to: ofUser!.length };
    const found = new Int32Array(to - from);
    let count = 0;
    await inSlices(from, to, (first, end) => {
      for (let place = first; place < end; place++) {
        const row = 'board' in of ? place : findTotal(this.held, ofUser![place]!, of.user).row;
        if (boards !== undefined && boards[pairs.board[row]!] !== 1) continue;
        if (people !== undefined && people[pairs.user[row]!] !== 1) continue;
        found[count++] = row;
      }
    });
    return found.subarray(0, count);
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

/**
 * The points totals in these rows. Imported ones have no dates by which a range could divide them:
 * they are 0 on boards for which `countsImported` is false (decision 71).
 */
export async function readTotals(
  { pairs, imported, earnings, policyOf }: Omit<TotalsHeld, 'boardsByUser'>,
  rows: Int32Array,
  range: TimeRange = {},
  countsImported: (board: number) => boolean = () => true,
): Promise<Standings> {
  const standings = standingsOf(rows.length);
  const read = (row: number, board: number) => {
    if (imported[row] === 1) return countsImported(board) ? earnings.imported(row) : NOTHING;
    const total = totalPoints(earnings.sum(row, range), 0);
    return { total, score: participationScore(policyOf(board), total) };
  };
  const fill = (from: number, to: number) => {
    for (let place = from; place < to; place++) {
      const row = rows[place]!;
      const board = pairs.board[row]!;
      const { total, score } = read(row, board);
      standings.user[place] = pairs.user[row]!;
      standings.board[place] = board;
      standings.totalPoints[place] = total;
      standings.participationScore[place] = score;
    }
  };
  await inSlices(0, rows.length, fill, SUMS_AT_ONCE);
  return standings;
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

async function joinStandings(parts: readonly StandingRows[]): Promise<StandingRows> {
  return {
    count: parts.reduce((sum, part) => sum + part.count, 0),
    user: await joinIntegers(parts.map((part) => part.user)),
    board: await joinIntegers(parts.map((part) => part.board)),
    totalPoints: await joinDoubles(parts.map((part) => part.totalPoints)),
    participationScore: await joinDoubles(parts.map((part) => part.participationScore)),
    imported: await joinFlags(parts.map(({ imported }) => imported)),
  };
}
