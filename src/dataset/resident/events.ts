/** Events of a selection in batches, and what they are made of, with room for other requests in between. */
import { setImmediate } from 'node:timers/promises';
import type { EventRows } from '../event-rows.ts';
import type { EventBatch, EventTally, Occurrences } from '../query.ts';
import { readSelection, type Selection } from '../timeline.ts';
import { WINDOW_ROWS } from './windows.ts';

/** As `readSelection`, window by window: rows that are not part of it take time, too. */
export async function* streamSelection(
  events: EventRows,
  selection: Selection,
  { limit = Number.POSITIVE_INFINITY, reused = false } = {},
): AsyncGenerator<EventBatch, void> {
  let left = limit;
  for (let from = selection.from; from < selection.to && left > 0; from += WINDOW_ROWS) {
    if (from > selection.from) await setImmediate();
    const to = Math.min(from + WINDOW_ROWS, selection.to);
    for (const batch of readSelection(events, { ...selection, from, to }, { limit: left, reused })) {
      left -= batch.count;
      yield batch;
    }
  }
}

/** How many values a column of events can have: indices from 0 to below. */
export interface ColumnSizes {
  readonly kinds: number;
  readonly users: number;
  readonly boards: number;
  readonly pins: number;
}

/** How often each index occurs in the rows of a selection. */
export async function tallySelection(
  events: EventRows,
  selection: Selection,
  sizes: ColumnSizes,
): Promise<EventTally> {
  const rows = selection.to - selection.from;
  const kind = openCount(sizes.kinds, rows);
  const actor = openCount(sizes.users, rows);
  const owner = openCount(sizes.users, rows);
  const board = openCount(sizes.boards, rows);
  const pin = openCount(sizes.pins, rows);
  let total = 0;
  for await (const batch of streamSelection(events, selection, { reused: true })) {
    total += batch.count;
    kind.add(batch.kind);
    actor.add(batch.actor);
    owner.add(batch.owner);
    board.add(batch.board);
    pin.add(batch.pin);
  }
  return {
    events: total,
    kind: kind.occurrences(),
    actor: actor.occurrences(),
    owner: owner.occurrences(),
    board: board.occurrences(),
    pin: pin.occurrences(),
  };
}

/** A tally of all events after others came; sizes are those of then. */
export function moreTally(tally: EventTally, events: EventBatch, sizes: ColumnSizes): EventTally {
  const more = (column: 'kind' | 'actor' | 'owner' | 'board' | 'pin', values: number) => {
    const count = new DenseCount(values, tally[column]);
    count.add(events[column]);
    return count.occurrences();
  };
  return {
    events: tally.events + events.count,
    kind: more('kind', sizes.kinds),
    actor: more('actor', sizes.users),
    owner: more('owner', sizes.users),
    board: more('board', sizes.boards),
    pin: more('pin', sizes.pins),
  };
}

interface Count {
  /** Negative values are none. */
  add(values: Int32Array): void;
  occurrences(): Occurrences;
}

/** A few rows of many possible values are counted without a place for every value. */
function openCount(values: number, rows: number): Count {
  return rows < values / 8 ? new SparseCount() : new DenseCount(values);
}

class DenseCount implements Count {
  readonly #counts: Float64Array;

  constructor(values: number, before?: Occurrences) {
    this.#counts = new Float64Array(values);
    for (const [place, value] of before?.index.entries() ?? []) this.#counts[value] = before!.count[place]!;
  }

  add(values: Int32Array): void {
    const counts = this.#counts;
    for (let row = 0; row < values.length; row++) {
      const value = values[row]!;
      if (value >= 0) counts[value]! += 1;
    }
  }

  occurrences(): Occurrences {
    const counts = this.#counts;
    const index = new Int32Array(counts.length);
    let found = 0;
    for (let value = 0; value < counts.length; value++) if (counts[value]! > 0) index[found++] = value;
    return { index: index.slice(0, found), count: counts.filter((count) => count > 0) };
  }
}

class SparseCount implements Count {
  readonly #counts = new Map<number, number>();

  add(values: Int32Array): void {
    for (const value of values) {
      if (value >= 0) this.#counts.set(value, (this.#counts.get(value) ?? 0) + 1);
    }
  }

  occurrences(): Occurrences {
    return { index: Int32Array.from(this.#counts.keys()), count: Float64Array.from(this.#counts.values()) };
  }
}
