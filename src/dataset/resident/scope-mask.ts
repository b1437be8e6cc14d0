/**
 * What is visible in a scope, by index (decision 12), computed once per scope. Here a resident
 * dataset translates a scope into the data that it reads.
 */

import type { Scope } from '../../domain/scope.ts';
import { atOnce, inSlices, inSlicesOf, type Steps } from '../../system/time-slice.ts';
import { joinIntegers } from '../columns.ts';
import { sharedFlags } from '../shared-arrays.ts';
import type { PairRows } from '../tables.ts';
import type { IdIndex } from './id-index.ts';
import { indexRows, listsOf, type RowIndex, rowsOf } from './row-index.ts';

/** Flags by index, 1 for visible; absent if everything is visible. */
export interface View {
  readonly boards: Uint8Array | undefined;
  readonly people: Uint8Array | undefined;
  /** The users whose events are visible; both actor and owner of an event must be among them. */
  readonly peopleOfEvents: Uint8Array | undefined;
  /**
   * The visible boards and users, if the scope names them; absent if it does not, or if all are
   * visible.
   */
  readonly boardList: Int32Array | undefined;
  readonly peopleList: Int32Array | undefined;
}

/** Ids looked up, and flags set, between two checks of the clock. */
const NAMES_AT_ONCE = 256;
const FLAGS_AT_ONCE = 16_384;

/** The users of each board; `rows` holds user indices here. */
export type BoardPeople = RowIndex;

export async function indexBoardPeople(parts: readonly PairRows[], boards: number): Promise<BoardPeople> {
  const users = await joinIntegers(parts.map((part) => part.user));
  const index = await indexRows(await joinIntegers(parts.map((part) => part.board)), boards);
  const { rows } = index;
  await inSlices(0, rows.length, (from, to) => {
    for (let place = from; place < to; place++) rows[place] = users[rows[place]!]!;
  });
  return index;
}

export class ScopeMask {
  readonly #boards: IdIndex;
  readonly #users: IdIndex;
  readonly boardPeople: BoardPeople;
  readonly #views = new WeakMap<Scope, View>();
  readonly #preparing = new WeakMap<Scope, Promise<void>>();

  constructor(boards: IdIndex, users: IdIndex, boardPeople: BoardPeople) {
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

  /**
   * Computes the view of a scope in time slices. Returns undefined if it has been computed already.
   */
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
      // All users in events on a visible board are visible, so the board alone decides about
      // events.
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
    if (boards === undefined) yield* listsOf(this.boardPeople);
    for (const board of boards ?? []) yield rowsOf(this.boardPeople, board);
  }
}

function* viewOfBoards(
  list: Int32Array | undefined,
  boards: IdIndex,
): Steps<Pick<View, 'boards' | 'boardList'>> {
  const flags = list && (yield* flagsOf([list], boards.count));
  return { boards: flags, boardList: flags && list };
}

/** Indices of the ids that exist, each once; undefined for all. */
function* namedIn(register: IdIndex, ids: 'all' | readonly bigint[]): Steps<Int32Array | undefined> {
  if (ids === 'all') return undefined;
  const found = new Set<number>();
  for (const [place, id] of ids.entries()) {
    if (place % NAMES_AT_ONCE === 0) yield;
    const index = register.find(id);
    if (index !== undefined) found.add(index);
  }
  return Int32Array.from(found);
}

/** Undefined if everything is visible, so that no flag has to be checked for each row. */
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
