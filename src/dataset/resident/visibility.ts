/**
 * What a scope lets through, by index (decision 12), worked out once a scope. This is where a resident dataset
 * turns scope into what is read.
 */

import type { Scope } from '../../domain/scope.ts';
import { atOnce, inSlices, inSlicesOf, type Steps } from '../../system/time-slice.ts';
import { joinIntegers } from '../columns.ts';
import type { PairRows } from '../tables.ts';
import type { Register } from './register.ts';
import { indexRows, type RowIndex } from './row-index.ts';
import { sharedFlags } from './shared-arrays.ts';

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

/** Ids found, and flags set, between two looks at the clock. */
const NAMES_AT_ONCE = 256;
const FLAGS_AT_ONCE = 16_384;

/** The people of each board, in place of rows. */
export type BoardPeople = RowIndex;

export async function indexBoardPeople(parts: readonly PairRows[], boards: number): Promise<BoardPeople> {
  const users = await joinIntegers(parts.map((part) => part.user));
  const { offsets, rows } = await indexRows(await joinIntegers(parts.map((part) => part.board)), boards);
  await inSlices(0, rows.length, (from, to) => {
    for (let place = from; place < to; place++) rows[place] = users[rows[place]!]!;
  });
  return { offsets, rows };
}

export class Visibility {
  readonly #boards: Register;
  readonly #users: Register;
  readonly boardPeople: BoardPeople;
  readonly #views = new WeakMap<Scope, View>();
  readonly #preparing = new WeakMap<Scope, Promise<void>>();

  constructor(boards: Register, users: Register, boardPeople: BoardPeople) {
    this.#boards = boards;
    this.#users = users;
    this.boardPeople = boardPeople;
  }

  of(scope: Scope): View {
    let view = this.#views.get(scope);
    if (view === undefined) {
      view = atOnce(this.#look(scope));
      this.#views.set(scope, view);
    }
    return view;
  }

  /** Makes the view of a scope in slices of time; absent when there is one. */
  prepare(scope: Scope): Promise<void> | undefined {
    if (this.#views.has(scope)) return undefined;
    const known = this.#preparing.get(scope);
    if (known !== undefined) return known;
    const preparing = this.#prepare(scope);
    this.#preparing.set(scope, preparing);
    return preparing;
  }

  async #prepare(scope: Scope): Promise<void> {
    const view = await inSlicesOf(this.#look(scope));
    this.#views.set(scope, view);
  }

  *#look({ boards: boardIds, users: userIds }: Scope): Steps<View> {
    const boards = yield* namedIn(this.#boards, boardIds);
    if (userIds === 'of-boards') {
      // Everybody in an event on a visible board is visible, so the board decides alone about events.
      const people = yield* flagsOf(this.#peopleOf(boards), this.#users.count);
      return {
        ...(yield* viewOfBoards(boards, this.#boards)),
        people,
        peopleOfEvents: undefined,
        peopleList: undefined,
      };
    }
    const users = yield* namedIn(this.#users, userIds);
    const people = users && (yield* flagsOf([users], this.#users.count));
    return {
      ...(yield* viewOfBoards(boards, this.#boards)),
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

function* viewOfBoards(
  list: Int32Array | undefined,
  boards: Register,
): Steps<Pick<View, 'boards' | 'boardList'>> {
  const flags = list && (yield* flagsOf([list], boards.count));
  return { boards: flags, boardList: flags && list };
}

/** Indices of those that exist, each once; absent for all. */
function* namedIn(register: Register, ids: 'all' | readonly bigint[]): Steps<Int32Array | undefined> {
  if (ids === 'all') return undefined;
  const found = new Set<number>();
  for (const [place, id] of ids.entries()) {
    if (place % NAMES_AT_ONCE === 0) yield;
    const index = register.find(id);
    if (index !== undefined) found.add(index);
  }
  return Int32Array.from(found);
}

/** Absent when everything is visible, so that nothing is looked up for each row. */
function* flagsOf(runs: Iterable<Int32Array>, count: number): Steps<Uint8Array | undefined> {
  const flags = sharedFlags(count);
  let visible = 0;
  let seen = 0;
  for (const run of runs) {
    for (let place = 0; place < run.length; place++) {
      const index = run[place]!;
      visible += 1 - flags[index]!;
      flags[index] = 1;
      seen += 1;
      if (seen % FLAGS_AT_ONCE === 0) yield;
    }
  }
  return visible === count ? undefined : flags;
}
