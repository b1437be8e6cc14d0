/** Points of users on boards in memory, with and without a range (decisions 10, 25, 26, 37). */
import { type BoardPolicy, policyOf, readPolicy } from '../../points/policy.ts';
import { participationScore, totalPoints } from '../../points/score.ts';
import type { Standings, StandingsQuery, TimeRange } from '../query.ts';
import type { EarningRows } from '../tables.ts';
import { joinDoubles, joinIntegers } from './columns.ts';
import { Earnings, joinEarnings } from './earnings.ts';
import type { Register } from './register.ts';
import { indexRows, orderRows, placesOf, type RowIndex } from './row-index.ts';
import { firstPlace } from './splice.ts';
import type { View } from './visibility.ts';
import { inWindows } from './windows.ts';

const NOBODY: Standings = standingsOf(0);

/** Puts standings and what they earned in order; `policy` is the policy of the version as text. */
export async function orderStandings(
  parts: readonly Standings[],
  earned: readonly EarningRows[],
  users: Register,
  boards: Register,
  policy: string,
): Promise<StandingsBook> {
  const read = joinStandings(parts);
  const byBoard = await indexRows(read.board, boards.count);
  await orderRows(byBoard, (row) => users.ranks[read.user[row]!]!);
  const standings = standingsOf(read.count);
  await inWindows(0, read.count, (from, to) => gather(read, byBoard.rows, standings, from, to));
  const byUser = await indexRows(standings.user, users.count);
  await orderRows(byUser, (row) => boards.ranks[standings.board[row]!]!);
  const ordered = { standings, offsets: byBoard.offsets, byUser };
  return new StandingsBook({
    ...ordered,
    earnings: await readEarnings(earned, ordered, users),
    policyOf: readPolicies(policy, boards),
  });
}

async function readEarnings(
  parts: readonly EarningRows[],
  ordered: OrderedStandings,
  users: Register,
): Promise<Earnings> {
  const earned = joinEarnings(parts);
  const { board, user } = earned;
  const standing = new Int32Array(board.length);
  await inWindows(0, board.length, (from, to) => {
    for (let row = from; row < to; row++) {
      const { place, found } = findStanding(ordered, users, board[row]!, user[row]!);
      if (!found) throw new Error('a version holds earnings of a user who is not on the board');
      standing[row] = place;
    }
  });
  return await Earnings.of(standing, earned, ordered.standings.count);
}

/** Where the standing of a pair is, or would go. */
export function findStanding(
  { standings, offsets }: Pick<OrderedStandings, 'standings' | 'offsets'>,
  { ranks }: Register,
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
export function readPolicies(text: string, boards: Register): (board: number) => BoardPolicy {
  const policy = readPolicy(text);
  const own = new Map<number, BoardPolicy>();
  for (const id of policy.boards.keys()) {
    const board = boards.find(id);
    if (board !== undefined) own.set(board, policyOf(policy, id));
  }
  return (board) => own.get(board) ?? policy.default;
}

export interface OrderedStandings {
  /** Board by board, the users of each ascending by id: those of board `b` lie at `[offsets[b], offsets[b + 1])`. */
  readonly standings: Standings;
  readonly offsets: Int32Array;
  /** The rows of each user, ascending by the id of the board. */
  readonly byUser: RowIndex;
}

export interface StandingsHeld extends OrderedStandings {
  readonly earnings: Earnings;
  readonly policyOf: (board: number) => BoardPolicy;
}

export class StandingsBook {
  readonly held: StandingsHeld;

  constructor(held: StandingsHeld) {
    this.held = held;
  }

  answer({ of, range }: Omit<StandingsQuery, 'scope'>, { boards, people }: View): Standings {
    const { startMs, endMs } = range;
    const bounded = startMs !== undefined || endMs !== undefined;
    // A range of no time at all is answered with nothing, not with everybody at 0 (decision 5).
    if (bounded && startMs === endMs) return NOBODY;
    const { user, board } = this.held.standings;
    const rows = this.#rowsOf(of).filter(
      (row) =>
        (boards === undefined || boards[board[row]!] === 1) &&
        (people === undefined || people[user[row]!] === 1),
    );
    const standings = standingsOf(rows.length);
    gather(this.held.standings, rows, standings, 0, rows.length);
    return bounded ? this.#inRange(standings, rows, range) : standings;
  }

  #rowsOf(of: StandingsQuery['of']): Int32Array {
    if ('user' in of) {
      const { from, to } = placesOf(this.held.byUser.offsets, of.user);
      return this.held.byUser.rows.subarray(from, to);
    }
    const { from, to } = placesOf(this.held.offsets, of.board);
    const rows = new Int32Array(to - from);
    for (let place = 0; place < rows.length; place++) rows[place] = from + place;
    return rows;
  }

  #inRange(standings: Standings, rows: Int32Array, range: TimeRange): Standings {
    const totals = Float64Array.from(rows, (row) => totalPoints(this.held.earnings.sum(row, range), 0));
    return {
      ...standings,
      totalPoints: totals,
      participationScore: totals.map((total, row) =>
        participationScore(this.held.policyOf(standings.board[row]!), total),
      ),
    };
  }
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

function joinStandings(parts: readonly Standings[]): Standings {
  return {
    count: parts.reduce((sum, part) => sum + part.count, 0),
    user: joinIntegers(parts.map((part) => part.user)),
    board: joinIntegers(parts.map((part) => part.board)),
    totalPoints: joinDoubles(parts.map((part) => part.totalPoints)),
    participationScore: joinDoubles(parts.map((part) => part.participationScore)),
  };
}

/** Takes over the rows at `[from, to)` of the list, to the same places. */
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
