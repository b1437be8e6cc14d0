/**
 * What a scope lets through, by index (decision 12), worked out once a scope. This is where a resident dataset
 * turns scope into what is read.
 */
import type { Scope } from '../scope.ts';
import type { PairRows } from '../tables.ts';
import { joinIntegers } from './columns.ts';
import type { Register } from './register.ts';
import { indexRows, type RowIndex } from './row-index.ts';
import { sharedFlags } from './shared-arrays.ts';
import { placeAdditions, spliceIndex } from './splice.ts';

/** Flags by index, 1 for what is visible; absent where everything is. */
export interface View {
  readonly boards: Uint8Array | undefined;
  readonly people: Uint8Array | undefined;
  /** Whose events are visible, as actor and as owner. */
  readonly peopleOfEvents: Uint8Array | undefined;
  /** The visible ones, where the scope names them; absent where it does not, or where everything is visible. */
  readonly boardList: Int32Array | undefined;
  readonly peopleList: Int32Array | undefined;
}

/** The people of each board, in place of rows. */
export type BoardPeople = RowIndex;

export async function indexBoardPeople(parts: readonly PairRows[], boards: number): Promise<BoardPeople> {
  const users = joinIntegers(parts.map((part) => part.user));
  const { offsets, rows } = await indexRows(joinIntegers(parts.map((part) => part.board)), boards);
  return { offsets, rows: rows.map((row) => users[row]!) };
}

/** The people of so many boards after pairs came. */
export async function moreBoardPeople(
  people: BoardPeople,
  boards: number,
  { board, user }: PairRows,
): Promise<BoardPeople> {
  const added = placeAdditions(people, board, user, () => false);
  return await spliceIndex(people, boards, undefined, added);
}

export class Visibility {
  readonly #boards: Register;
  readonly #users: Register;
  readonly boardPeople: BoardPeople;
  readonly #views = new WeakMap<Scope, View>();

  constructor(boards: Register, users: Register, boardPeople: BoardPeople) {
    this.#boards = boards;
    this.#users = users;
    this.boardPeople = boardPeople;
  }

  of(scope: Scope): View {
    let view = this.#views.get(scope);
    if (view === undefined) {
      view = this.#look(scope);
      this.#views.set(scope, view);
    }
    return view;
  }

  #look({ boards: boardIds, users: userIds }: Scope): View {
    const boards = namedIn(this.#boards, boardIds);
    if (userIds === 'of-boards') {
      // Everybody in an event on a visible board is visible, so the board decides alone about events.
      const people = flagsOf(this.#peopleOf(boards), this.#users.count);
      return {
        ...viewOfBoards(boards, this.#boards),
        people,
        peopleOfEvents: undefined,
        peopleList: undefined,
      };
    }
    const users = namedIn(this.#users, userIds);
    const people = users && flagsOf([users], this.#users.count);
    return {
      ...viewOfBoards(boards, this.#boards),
      people,
      peopleOfEvents: people,
      peopleList: people && users,
    };
  }

  *#peopleOf(boards: Int32Array | undefined): Generator<Int32Array, void> {
    const { offsets, rows } = this.boardPeople;
    if (boards === undefined) yield rows;
    for (const board of boards ?? []) yield rows.subarray(offsets[board], offsets[board + 1]);
  }
}

function viewOfBoards(list: Int32Array | undefined, boards: Register): Pick<View, 'boards' | 'boardList'> {
  const flags = list && flagsOf([list], boards.count);
  return { boards: flags, boardList: flags && list };
}

/** Indices of those that exist, each once; absent for all. */
function namedIn(register: Register, ids: 'all' | readonly bigint[]): Int32Array | undefined {
  if (ids === 'all') return undefined;
  const found = new Set<number>();
  for (const id of ids) {
    const index = register.find(id);
    if (index !== undefined) found.add(index);
  }
  return Int32Array.from(found);
}

/** Absent when everything is visible, so that nothing is looked up for each row. */
function flagsOf(runs: Iterable<Int32Array>, count: number): Uint8Array | undefined {
  const flags = sharedFlags(count);
  let visible = 0;
  for (const run of runs) {
    for (let place = 0; place < run.length; place++) {
      const index = run[place]!;
      visible += 1 - flags[index]!;
      flags[index] = 1;
    }
  }
  return visible === count ? undefined : flags;
}
