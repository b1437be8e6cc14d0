/** Counts over the events of a selection. */
import { inSlices } from '../../system/time-slice.ts';
import type { EventRows } from '../event-rows.ts';
import { firstPlace } from '../first-place.ts';
import type { EventBatch, EventTally, Occurrences } from '../query.ts';
import type { Selection } from '../selection.ts';
import { isWhole, openFound, streamSelection } from '../timeline.ts';

/** The number of possible values of each column of events: indices from 0 to below that number. */
export interface ColumnSizes {
  readonly kinds: number;
  readonly users: number;
  readonly boards: number;
  readonly pins: number;
}

/** Counts how often each index occurs in the rows of a selection, in time slices. */
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
  const into = isWhole(selection) ? undefined : openFound(selection);
  let total = 0;
  for await (const batch of streamSelection(events, selection, { reused: true, into })) {
    total += batch.count;
    kind.add(batch.kind);
    actor.add(batch.actor);
    owner.add(batch.owner);
    board.add(batch.board);
    pin.add(batch.pin);
  }
  const { from, to, rows: listed } = selection;
  return {
    events: total,
    ...(await occurrencesOf({ kind, actor, owner, board, pin })),
    selection: into && { from, to, rows: listed, found: into },
  };
}

/** The tally of all events after others were added. `sizes` are those afterwards. */
export async function growTally(
  before: EventTally,
  added: EventBatch,
  sizes: ColumnSizes,
): Promise<EventTally> {
  const grow = async (column: TalliedColumn, values: number) =>
    addKnown(before[column], added[column]) ?? (await addAll(before[column], added[column], values));
  return {
    events: before.events + added.count,
    kind: await grow('kind', sizes.kinds),
    actor: await grow('actor', sizes.users),
    owner: await grow('owner', sizes.users),
    board: await grow('board', sizes.boards),
    pin: await grow('pin', sizes.pins),
  };
}

/** Undefined if a value occurs for the first time, or if the indices do not ascend. */
function addKnown({ index, count }: Occurrences, values: Int32Array): Occurrences | undefined {
  if (values.length === 0) return { index, count };
  const counts = count.slice();
  for (const value of values) {
    if (value < 0) continue;
    const place = firstPlace(0, index.length, (at) => index[at]! >= value);
    if (index[place] !== value) return undefined;
    counts[place]! += 1;
  }
  return { index, count: counts };
}

async function addAll(before: Occurrences, values: Int32Array, size: number): Promise<Occurrences> {
  const count = await DenseCount.of(size, before);
  count.add(values);
  return await count.occurrences();
}

type TalliedColumn = Exclude<keyof EventTally, 'events' | 'selection'>;

async function occurrencesOf(counts: Readonly<Record<TalliedColumn, Count>>) {
  return {
    kind: await counts.kind.occurrences(),
    actor: await counts.actor.occurrences(),
    owner: await counts.owner.occurrences(),
    board: await counts.board.occurrences(),
    pin: await counts.pin.occurrences(),
  };
}

interface Count {
  /** Negative values are ignored. */
  add(values: Int32Array): void;
  /** In time slices: there can be a million values. */
  occurrences(): Promise<Occurrences>;
}

/**
 * If there are few rows and many possible values, counts are kept only for the values that occur.
 */
function openCount(values: number, rows: number): Count {
  return rows < values / 8 ? new SparseCount() : new DenseCount(values);
}

class DenseCount implements Count {
  readonly #counts: Float64Array;

  constructor(values: number) {
    this.#counts = new Float64Array(values);
  }

  /** Continues from earlier counts. */
  static async of(values: number, { index, count }: Occurrences): Promise<DenseCount> {
    const made = new DenseCount(values);
    await inSlices(0, index.length, (from, to) => {
      for (let place = from; place < to; place++) made.#counts[index[place]!] = count[place]!;
    });
    return made;
  }

  add(values: Int32Array): void {
    const counts = this.#counts;
    for (let row = 0; row < values.length; row++) {
      const value = values[row]!;
      if (value >= 0) counts[value]! += 1;
    }
  }

  async occurrences(): Promise<Occurrences> {
    const counts = this.#counts;
    let found = 0;
    await inSlices(0, counts.length, (from, to) => {
      for (let value = from; value < to; value++) if (counts[value]! > 0) found += 1;
    });
    const index = new Int32Array(found);
    const count = new Float64Array(found);
    let place = 0;
    await inSlices(0, counts.length, (from, to) => {
      for (let value = from; value < to; value++) {
        if (counts[value] === 0) continue;
        index[place] = value;
        count[place++] = counts[value]!;
      }
    });
    return { index, count };
  }
}

class SparseCount implements Count {
  readonly #counts = new Map<number, number>();

  add(values: Int32Array): void {
    for (const value of values) {
      if (value >= 0) this.#counts.set(value, (this.#counts.get(value) ?? 0) + 1);
    }
  }

  async occurrences(): Promise<Occurrences> {
    return { index: Int32Array.from(this.#counts.keys()), count: Float64Array.from(this.#counts.values()) };
  }
}
