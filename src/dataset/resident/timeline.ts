/**
 * The timeline of a resident dataset: finds the rows that a query selects without reading all of
 * them.
 */
import {
  actorOf,
  boardOf,
  type EventRows,
  fieldOf,
  ROW_WORDS,
  sequenceOf,
  timestampOf,
} from '../event-rows.ts';
import type { EventPosition, EventQuery, TimeRange } from '../query.ts';
import { areInOrder, rowAt } from '../row-runs.ts';
import type { Selection } from '../selection.ts';
import { sharedIntegers } from '../shared-arrays.ts';
import { changedRows, flagsOf, type Timeline } from '../timeline.ts';
import { firstRowOf, indexRows, type RowIndex, rowsOf } from './row-index.ts';
import type { ScopeMask, View } from './scope-mask.ts';

/**
 * The rows of a scope are listed only up to this number and this share of all rows, because one
 * list is kept per scope.
 */
const MOST_LISTED_ROWS = 32_768;
const LISTED_SHARE = 1 / 8;

const NOTHING: Selection = { from: 0, to: 0 };

/**
 * Indexes rows that are in order by board and by actor. `lastSequence` is that of the version.
 */
export async function openTimeline(
  events: EventRows,
  sizes: { readonly boards: number; readonly users: number },
  visibility: ScopeMask,
  lastSequence: number,
): Promise<ResidentTimeline> {
  const byBoard = await indexRows(fieldOf(events, 'board'), sizes.boards, ROW_WORDS);
  const byActor = await indexRows(fieldOf(events, 'actor'), sizes.users, ROW_WORDS);
  return new ResidentTimeline(events, byBoard, byActor, visibility, lastSequence);
}

export class ResidentTimeline implements Timeline {
  readonly events: EventRows;
  readonly byBoard: RowIndex;
  readonly byActor: RowIndex;
  readonly #visibility: ScopeMask;
  readonly #lastSequence: number;
  readonly #listed = new WeakMap<View, Int32Array | undefined>();

  constructor(
    events: EventRows,
    byBoard: RowIndex,
    byActor: RowIndex,
    visibility: ScopeMask,
    lastSequence: number,
  ) {
    this.events = events;
    this.byBoard = byBoard;
    this.byActor = byActor;
    this.#visibility = visibility;
    this.#lastSequence = lastSequence;
  }

  select(query: Omit<EventQuery, 'limit'>): Selection {
    const { board, actor, upToSequence = Number.POSITIVE_INFINITY } = query;
    const view = this.#visibility.of(query.scope);
    if (board !== undefined && view.boards !== undefined && view.boards[board] !== 1) return NOTHING;
    if (actor !== undefined && view.peopleOfEvents !== undefined && view.peopleOfEvents[actor] !== 1)
      return NOTHING;
    const { rows, from, to, ofBoards } = this.#candidates(query, view);
    return {
      ...this.#narrow(rows, from, to, query),
      rows,
      boards: ofBoards ? undefined : view.boards,
      people: view.peopleOfEvents,
      pinsOnly: query.pinsOnly === true ? true : undefined,
      kinds: query.kinds === undefined ? undefined : flagsOf(query.kinds),
      upToSequence: upToSequence >= this.#lastSequence ? undefined : upToSequence,
      since: query.since?.rows === undefined ? query.since && changedRows(query.since) : undefined,
    };
  }

  /**
   * Time of the first event of an actor or on a board, regardless of scope, in Unix milliseconds;
   * NaN if there is none.
   */
  firstMs(column: 'actor' | 'board', index: number): number {
    const first = firstRowOf(column === 'actor' ? this.byActor : this.byBoard, index);
    return first === undefined ? Number.NaN : timestampOf(this.events, first);
  }

  /**
   * The smallest set of rows that the indexes give. The board and the actor of the query, if any,
   * must be visible.
   */
  #candidates(
    { board, actor, since }: Pick<EventQuery, 'board' | 'actor' | 'since'>,
    view: View,
  ): Candidates {
    if (since?.rows !== undefined) {
      return listed(this.#matching(since.rows, board, actor), false);
    }
    if (board !== undefined) {
      const ofBoard = rowsOf(this.byBoard, board);
      return listed(actor === undefined ? ofBoard : this.#both(ofBoard, board, actor), true);
    }
    if (actor !== undefined) return listed(rowsOf(this.byActor, actor), false);
    const ofScope = this.#list(view);
    if (ofScope !== undefined) return listed(ofScope, view.boardList !== undefined);
    return { rows: undefined, from: 0, to: this.events.count, ofBoards: false };
  }

  #both(ofBoard: Int32Array, board: number, actor: number): Int32Array {
    const ofActor = rowsOf(this.byActor, actor);
    const fewer = ofActor.length < ofBoard.length ? ofActor : ofBoard;
    return sharedCopy(this.#matching(fewer, board, actor));
  }

  /** Filters rows by board and actor, where given. */
  #matching(rows: Int32Array, board: number | undefined, actor: number | undefined): Int32Array {
    if (board === undefined && actor === undefined) return rows;
    return rows.filter(
      (row) =>
        (board === undefined || boardOf(this.events, row) === board) &&
        (actor === undefined || actorOf(this.events, row) === actor),
    );
  }

  /**
   * The rows of a scope that names its boards or its users, if they are few; built on first use.
   */
  #list(view: View): Int32Array | undefined {
    if (!this.#listed.has(view)) this.#listed.set(view, this.#listAnew(view));
    return this.#listed.get(view);
  }

  #listAnew({ boardList, peopleList }: View): Int32Array | undefined {
    const index = boardList === undefined ? this.byActor : this.byBoard;
    const values = boardList ?? peopleList;
    if (values === undefined) return undefined;
    const total = values.reduce((sum, value) => sum + rowsOf(index, value).length, 0);
    if (total > MOST_LISTED_ROWS || total > LISTED_SHARE * this.events.count) return undefined;
    const found = sharedIntegers(total);
    let at = 0;
    for (const value of values) {
      const ofValue = rowsOf(index, value);
      found.set(ofValue, at);
      at += ofValue.length;
    }
    // The numbers of rows that are in order can be compared natively.
    return areInOrder(this.events.runs)
      ? found.sort()
      : found.sort((one, other) => this.#compare(one, other));
  }

  /** Negative if row `one` comes before row `other` in the timeline. */
  #compare(one: number, other: number): number {
    const { events } = this;
    return (
      timestampOf(events, one) - timestampOf(events, other) ||
      sequenceOf(events, one) - sequenceOf(events, other)
    );
  }

  #narrow(
    rows: Int32Array | undefined,
    first: number,
    end: number,
    { range, after }: { readonly range: TimeRange; readonly after?: EventPosition | undefined },
  ): Pick<Selection, 'from' | 'to'> {
    const { startMs, endMs } = range;
    const start: EventPosition | undefined =
      startMs === undefined ? undefined : { timestampMs: startMs, sequence: Number.NEGATIVE_INFINITY };
    const stop: EventPosition | undefined =
      endMs === undefined ? undefined : { timestampMs: endMs, sequence: Number.NEGATIVE_INFINITY };
    let from = start === undefined ? first : this.#placeAfter(rows, first, end, start);
    if (after !== undefined) from = this.#placeAfter(rows, from, end, after);
    return { from, to: stop === undefined ? end : this.#placeAfter(rows, from, end, stop) };
  }

  /**
   * The first position in `[low, high)` whose event comes after `position`; `high` if there is
   * none.
   */
  #placeAfter(rows: Int32Array | undefined, low: number, high: number, position: EventPosition): number {
    const { events } = this;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const row = rows === undefined ? rowAt(events.runs, middle) : rows[middle]!;
      const ms = timestampOf(events, row);
      const isAfter =
        ms > position.timestampMs ||
        (ms === position.timestampMs && sequenceOf(events, row) > position.sequence);
      if (isAfter) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

interface Candidates {
  /** Absent: every row. */
  readonly rows: Int32Array | undefined;
  readonly from: number;
  readonly to: number;
  /** Whether all of them are on visible boards. */
  readonly ofBoards: boolean;
}

function listed(rows: Int32Array, ofBoards: boolean): Candidates {
  return { rows, from: 0, to: rows.length, ofBoards };
}

function sharedCopy(rows: Int32Array): Int32Array {
  const copy = sharedIntegers(rows.length);
  copy.set(rows);
  return copy;
}
