/** Points of users on boards in memory, with and without a range (decisions 10, 25, 26, 37). */
import { type BoardPolicy, policyOf, readPolicy } from '../../points/policy.ts';
import { participationScore, totalPoints } from '../../points/score.ts';
import type { Standings, StandingsQuery, TimeRange } from '../query.ts';
import type { Tables } from '../tables.ts';
import { collectRuns, joinColumn } from './columns.ts';
import { type Earnings, readEarnings } from './earnings.ts';
import type { Register } from './register.ts';
import { indexRows, placesOf, type RowIndex } from './row-index.ts';
import type { View } from './visibility.ts';
import { inWindows } from './windows.ts';

const NOBODY: Standings = standingsOf(0);

/** Reads the standings of a version; `policy` is its policy as text. */
export async function readStandings(
  tables: Tables,
  users: Register,
  boards: Register,
  policy: string,
): Promise<StandingsBook> {
  const read = joinStandings(await collectRuns(tables.standings()));
  // Sorting by one id and then stably by the other leaves both in the order of decision 4.
  const byUser = await indexRows(read.user, users.count, { order: await orderById(read.board, boards) });
  const byBoard = await indexRows(read.board, boards.count, { order: await orderById(read.user, users) });
  const standings = standingsOf(read.count);
  const places = new Int32Array(read.count);
  await inWindows(0, read.count, (from, to) => {
    gather(read, byBoard.rows, standings, from, to);
    for (let place = from; place < to; place++) places[byBoard.rows[place]!] = place;
  });
  // From rows as they were read to rows as they are kept.
  await inWindows(0, read.count, (from, to) => {
    for (let place = from; place < to; place++) byUser.rows[place] = places[byUser.rows[place]!]!;
  });
  return new StandingsBook(
    standings,
    byBoard.offsets,
    byUser,
    await readEarnings(tables.earnings(), standings, byBoard.offsets),
    readPolicies(policy, boards),
  );
}

/** Rows of a column of indices, in the order of the ids of these. */
async function orderById(column: Int32Array, register: Register): Promise<Int32Array> {
  const { offsets, rows } = await indexRows(column, register.count);
  const order = new Int32Array(column.length);
  let at = 0;
  for (const index of register.byId) {
    const ofIndex = rows.subarray(offsets[index], offsets[index + 1]);
    order.set(ofIndex, at);
    at += ofIndex.length;
  }
  return order;
}

/** The policy of a board by its index (decision 23). */
function readPolicies(text: string, boards: Register): (board: number) => BoardPolicy {
  const policy = readPolicy(text);
  const own = new Map<number, BoardPolicy>();
  for (const id of policy.boards.keys()) {
    const board = boards.find(id);
    if (board !== undefined) own.set(board, policyOf(policy, id));
  }
  return (board) => own.get(board) ?? policy.default;
}

export class StandingsBook {
  /** Board by board, the users of each ascending by id: those of board `b` lie at `[offsets[b], offsets[b + 1])`. */
  readonly #standings: Standings;
  readonly #offsets: Int32Array;
  /** The rows of each user, ascending by the id of the board. */
  readonly #byUser: RowIndex;
  readonly #earnings: Earnings;
  readonly #policyOf: (board: number) => BoardPolicy;

  constructor(
    standings: Standings,
    offsets: Int32Array,
    byUser: RowIndex,
    earnings: Earnings,
    policy: (board: number) => BoardPolicy,
  ) {
    this.#standings = standings;
    this.#offsets = offsets;
    this.#byUser = byUser;
    this.#earnings = earnings;
    this.#policyOf = policy;
  }

  answer({ of, range }: Omit<StandingsQuery, 'scope'>, { boards, people }: View): Standings {
    const { startMs, endMs } = range;
    const bounded = startMs !== undefined || endMs !== undefined;
    // A range of no time at all is answered with nothing, not with everybody at 0 (decision 5).
    if (bounded && startMs === endMs) return NOBODY;
    const { user, board } = this.#standings;
    const rows = this.#rowsOf(of).filter(
      (row) =>
        (boards === undefined || boards[board[row]!] === 1) &&
        (people === undefined || people[user[row]!] === 1),
    );
    const standings = standingsOf(rows.length);
    gather(this.#standings, rows, standings, 0, rows.length);
    return bounded ? this.#inRange(standings, rows, range) : standings;
  }

  #rowsOf(of: StandingsQuery['of']): Int32Array {
    if ('user' in of) {
      const { from, to } = placesOf(this.#byUser.offsets, of.user);
      return this.#byUser.rows.subarray(from, to);
    }
    const { from, to } = placesOf(this.#offsets, of.board);
    const rows = new Int32Array(to - from);
    for (let place = 0; place < rows.length; place++) rows[place] = from + place;
    return rows;
  }

  #inRange(standings: Standings, rows: Int32Array, range: TimeRange): Standings {
    const totals = Float64Array.from(rows, (row) => totalPoints(this.#earnings.sum(row, range), 0));
    return {
      ...standings,
      totalPoints: totals,
      participationScore: totals.map((total, row) =>
        participationScore(this.#policyOf(standings.board[row]!), total),
      ),
    };
  }
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

function joinStandings(parts: readonly Standings[]): Standings {
  const integers = (length: number) => new Int32Array(length);
  const doubles = (length: number) => new Float64Array(length);
  return {
    count: parts.reduce((sum, part) => sum + part.count, 0),
    user: joinColumn(
      parts.map((part) => part.user),
      integers,
    ),
    board: joinColumn(
      parts.map((part) => part.board),
      integers,
    ),
    totalPoints: joinColumn(
      parts.map((part) => part.totalPoints),
      doubles,
    ),
    participationScore: joinColumn(
      parts.map((part) => part.participationScore),
      doubles,
    ),
  };
}

/** Takes over the rows at `[from, to)` of the list, to the same places. */
function gather(source: Standings, rows: Int32Array, target: Standings, from: number, to: number): void {
  for (let place = from; place < to; place++) {
    const row = rows[place]!;
    target.user[place] = source.user[row]!;
    target.board[place] = source.board[row]!;
    target.totalPoints[place] = source.totalPoints[row]!;
    target.participationScore[place] = source.participationScore[row]!;
  }
}
