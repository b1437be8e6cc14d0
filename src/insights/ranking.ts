/** Boards, users and pins with the most events, or with the latest events. */
import type { Dataset } from '../dataset/dataset.ts';
import type { UserOrder } from '../dataset/query.ts';
import type { Selection } from '../dataset/selection.ts';
import { sharedIntegers } from '../dataset/shared-arrays.ts';
import { isEverything, streamSelection } from '../dataset/timeline.ts';
import { inSlices, slice } from '../system/time-slice.ts';
import { type Counter, sumOf } from './counter.ts';
import { IndexSet } from './index-set.ts';
import { type Asked, countSelected, kindsOf, queryOf } from './scan.ts';
import { Top } from './top.ts';

export const ORDERS = ['events', 'recent'] as const;
export type RankingOrder = (typeof ORDERS)[number];

/** Ranks boards, or users by the events in which they are the actor. */
type RankingColumn = 'board' | 'actor';

export interface Ranked {
  /** Index of the board or of the actor. */
  readonly index: number;
  readonly events: number;
  /** For a board the number of its actors, for a user the number of boards. */
  readonly others: number;
  readonly lastMs: number;
}

/**
 * At most `most` boards or users, most events or latest event first. Ties are in the order of the
 * boards or users.
 */
export async function rank(
  dataset: Dataset,
  asked: Asked,
  by: RankingColumn,
  { order, most }: { readonly order: RankingOrder; readonly most: number },
): Promise<Ranked[]> {
  const events = await countEvents(dataset, asked, by);
  const ranks = order === 'recent' ? await findLast(dataset, asked, by) : events;
  const users = by === 'actor' ? await dataset.userOrder?.() : undefined;
  const top = await topOf(events, most, { ranks, order: users });
  const other = by === 'board' ? 'actor' : 'board';
  const looked = await lookAt(dataset, asked, { by, indices: top, events, other });
  return top.map((index, place) => ({ index, events: events[index]!, ...looked[place]! }));
}

/** The number of events by index. */
export async function countEvents(dataset: Dataset, asked: Asked, by: RankingColumn): Promise<Float64Array> {
  const query = queryOf(dataset, asked);
  const { timeline } = dataset;
  if (timeline !== undefined && !isEverything(timeline.events, timeline.select(query))) {
    const input = { by, size: sizeOf(dataset, by), wanted: kindsOf(dataset, asked.action) };
    return await sumOf(await countSelected(dataset, asked, OCCURRENCES, input));
  }
  // A dataset in memory knows it already, and a store counts faster than this thread.
  const { index, count } = (await dataset.tally(query))[by];
  const events = new Float64Array(sizeOf(dataset, by));
  await inSlices(0, index.length, (from, to) => {
    for (let place = from; place < to; place++) events[index[place]!] = count[place]!;
  });
  return events;
}

interface ColumnInput {
  readonly by: RankingColumn;
  /** Number of the indices of the column. */
  readonly size: number;
  readonly wanted: Uint8Array;
}

/** By index of a column: its number of events. */
export const OCCURRENCES: Counter<ColumnInput, Float64Array> = {
  name: 'occurrences',
  start({ by, size, wanted }) {
    const events = new Float64Array(size);
    return {
      see({ count, stride, kindStride, kind, [by]: values }) {
        for (let row = 0; row < count; row++) {
          if (wanted[kind[row * kindStride]!] === 1) events[values[row * stride]!]! += 1;
        }
      },
      end: () => events,
    };
  },
};

interface Ranking {
  /** By index; by default, the counts. */
  readonly ranks?: Float64Array;
  /** The order of equal ranks; by default, the order of the indices. */
  readonly order?: UserOrder | undefined;
}

/** At most `most` indices with a count above 0, the highest rank first. */
export async function topOf(
  counts: Float64Array,
  most: number,
  { ranks = counts, order }: Ranking = {},
): Promise<number[]> {
  const top = new Top(most);
  await inSlices(0, counts.length, (from, to) => {
    for (let index = from; index < to; index++) {
      if (counts[index]! > 0) top.offer(ranks[index]!, order === undefined ? index : order.places[index]!);
    }
  });
  return top.ranked().map(({ place }) => order?.byPlace[place] ?? place);
}

function sizeOf({ counts }: Dataset, column: RankingColumn | 'pin'): number {
  return { board: counts.boards, actor: counts.users, pin: counts.pins }[column];
}

/** The instant of the latest event by index; negative infinity if there is none. */
export async function findLast(dataset: Dataset, asked: Asked, by: RankingColumn): Promise<Float64Array> {
  const input = { by, size: sizeOf(dataset, by), wanted: kindsOf(dataset, asked.action) };
  return await latestOf(await countSelected(dataset, asked, LATEST, input));
}

/** By index, the latest instant, kept in the first of the parts. */
async function latestOf([first, ...others]: readonly Float64Array[]): Promise<Float64Array> {
  const lastMs = first!;
  for (const part of others) {
    await inSlices(0, lastMs.length, (from, to) => {
      for (let index = from; index < to; index++) lastMs[index] = Math.max(lastMs[index]!, part[index]!);
    });
  }
  return lastMs;
}

/** By index of a column: the instant of its latest event. */
export const LATEST: Counter<ColumnInput, Float64Array> = {
  name: 'latest',
  start({ by, size, wanted }) {
    const lastMs = new Float64Array(size).fill(Number.NEGATIVE_INFINITY);
    return {
      see({ count, stride, kindStride, instantStride, kind, timestampMs, [by]: values }) {
        for (let row = 0; row < count; row++) {
          if (wanted[kind[row * kindStride]!] === 0) continue;
          lastMs[values[row * stride]!] = timestampMs[row * instantStride]!;
        }
      },
      end: () => lastMs,
    };
  },
};

type Looked = Pick<Ranked, 'others' | 'lastMs'>;

/** Room for the values of `other` that are listed in one scan: 128 MB together. */
const MOST_LISTED = 2 ** 25;
/** A list with less room would be gone through too often for values that it has twice. */
const LEAST_ROOM = 1_024;
/** Reading a row here and there takes this many times as long as reading it in a scan. */
const SCATTERED_COST = 16;

interface ToLookAt {
  readonly by: RankingColumn | 'pin';
  /** The indices in `by` to look up; only a few. */
  readonly indices: readonly number[];
  /** By index in `by`: the number of selected events. */
  readonly events: Float64Array;
  /** The column whose different values are counted. */
  readonly other: RankingColumn;
}

/** By position in `indices`: the number of distinct values of `other`, and the latest event. */
export async function lookAt(dataset: Dataset, asked: Asked, { by, indices, events, other }: ToLookAt) {
  const scans = divideByRoom(indices, (index) => roomFor(events[index]!, sizeOf(dataset, other)));
  const selections = selectEach(dataset, asked, by, indices, scans.length);
  if (selections !== undefined) return await lookAtEach(dataset, selections, other);
  const looked: Looked[] = [];
  for (const scan of scans) looked.push(...(await lookAtOnce(dataset, asked, { by, other }, scan)));
  return looked;
}

/**
 * The most values that the list of an index can have: those of all its events, or twice as many as
 * there are different ones.
 */
function roomFor(events: number, others: number): number {
  return Math.min(events, Math.max(2 * others, LEAST_ROOM));
}

/** Indices to look up together, and the room of their lists. */
interface ListingScan {
  readonly indices: number[];
  readonly room: number[];
}

/** Scans with at most `MOST_LISTED` values each, or a single index. The order stays. */
function divideByRoom(indices: readonly number[], roomOf: (index: number) => number): ListingScan[] {
  const scans: ListingScan[] = [];
  let listed = 0;
  for (const index of indices) {
    const room = roomOf(index);
    listed += room;
    if (scans.length === 0 || listed > MOST_LISTED) {
      scans.push({ indices: [], room: [] });
      listed = room;
    }
    scans.at(-1)!.indices.push(index);
    scans.at(-1)!.room.push(room);
  }
  return scans;
}

/** The events of each index; undefined if reading these takes longer than `scans` scans. */
function selectEach(
  dataset: Dataset,
  asked: Asked,
  by: ToLookAt['by'],
  indices: readonly number[],
  scans: number,
): Selection[] | undefined {
  const { timeline } = dataset;
  if (timeline === undefined || by === 'pin') return undefined;
  const query = queryOf(dataset, asked);
  const all = timeline.select(query);
  const selections = indices.map((index) => timeline.select({ ...query, [by]: index }));
  const rows = selections.reduce((sum, { from, to }) => sum + to - from, 0);
  return rows * SCATTERED_COST <= (all.to - all.from) * scans ? selections : undefined;
}

/** As `lookAt`, for the selections of a timeline. */
async function lookAtEach(
  dataset: Dataset,
  selections: readonly Selection[],
  other: RankingColumn,
): Promise<Looked[]> {
  // By index in `other`: the last selection in which it occurred, counted from 1. Bits would have
  // to be cleared for each selection, and there are few values in each.
  const lastSeen = new Int32Array(sizeOf(dataset, other));
  const looked: Looked[] = [];
  for (const selection of selections) {
    const number = looked.length + 1;
    let [others, lastMs] = [0, Number.NEGATIVE_INFINITY];
    const batches = streamSelection(dataset.timeline!.events, selection, { reused: true });
    for await (const { count, timestampMs, [other]: values } of batches) {
      for (let row = 0; row < count; row++) {
        if (lastSeen[values[row]!] !== number) others += 1;
        lastSeen[values[row]!] = number;
      }
      lastMs = timestampMs[count - 1]!;
    }
    looked.push({ others, lastMs });
  }
  return looked;
}

async function lookAtOnce(
  dataset: Dataset,
  asked: Asked,
  { by, other }: Pick<ToLookAt, 'by' | 'other'>,
  { indices, room }: ListingScan,
): Promise<Looked[]> {
  // Positions count from 1; 0 means none.
  const placeOf = sharedIntegers(sizeOf(dataset, by));
  for (const [place, index] of indices.entries()) placeOf[index] = place + 1;
  const others = sizeOf(dataset, other);
  const input = { by, other, placeOf, room, others, wanted: kindsOf(dataset, asked.action) };
  const parts = await countSelected(dataset, asked, VALUES, input);
  const lastMs = await latestOf(parts.map((part) => part.lastMs));
  const distinct = new DistinctValues(others);
  const looked: Looked[] = [];
  for (let place = 0; place < indices.length; place++) {
    if (slice.isOver()) await slice.pass();
    distinct.begin();
    for (const { values, ends } of parts) {
      await inSlices(ends[place - 1] ?? 0, ends[place]!, (from, to) => distinct.keepNew(values, from, to));
    }
    looked.push({ others: distinct.count, lastMs: lastMs[place]! });
  }
  return looked;
}

/** Finds the different values among indices of a column. */
class DistinctValues {
  readonly #seen: IndexSet;
  #count = 0;

  /** Values are below `size`. */
  constructor(size: number) {
    this.#seen = new IndexSet(size);
  }

  /** Forgets all values. */
  begin(): void {
    this.#seen.clear();
    this.#count = 0;
  }

  /** The number of different values since `begin`. */
  get count(): number {
    return this.#count;
  }

  /** Moves those among `values[from, to)` that are new to `from`; returns where they end. */
  keepNew(values: Int32Array, from: number, to: number): number {
    const seen = this.#seen;
    let end = from;
    for (let at = from; at < to; at++) {
      if (seen.add(values[at]!)) values[end++] = values[at]!;
    }
    this.#count += end - from;
    return end;
  }
}

interface ValuesInput {
  readonly by: RankingColumn | 'pin';
  readonly other: RankingColumn;
  /** By index in `by`: 1 + position of the index among those to look up; 0 if it is not one. */
  readonly placeOf: Int32Array;
  /** By position: see `roomFor`. */
  readonly room: readonly number[];
  /** The number of indices in `other`. */
  readonly others: number;
  readonly wanted: Uint8Array;
}

interface ValuesPart {
  /** The different values of `other`: those of the first position, then those of the next. */
  readonly values: Int32Array;
  /** By position: the end of its values. */
  readonly ends: Int32Array;
  /** By position: the instant of the latest event. */
  readonly lastMs: Float64Array;
}

/**
 * The values of `other` that occur with each position. A list is faster than a bit for each value,
 * because it is written from its beginning to its end.
 */
export const VALUES: Counter<ValuesInput, ValuesPart> = {
  name: 'values',
  start({ by, other, placeOf, room, others, wanted }) {
    const places = room.length;
    const starts = new Int32Array(places + 1);
    for (const [place, length] of room.entries()) starts[place + 1] = starts[place]! + length;
    const listed = new Int32Array(starts[places]!);
    const ends = starts.slice(0, places);
    const lastMs = new Float64Array(places).fill(Number.NEGATIVE_INFINITY);
    const distinct = new DistinctValues(others);
    const toLookUp = indicesOf(placeOf);
    const thin = (place: number) => {
      distinct.begin();
      ends[place] = distinct.keepNew(listed, starts[place]!, ends[place]!);
    };
    return {
      see({ count, stride, kindStride, instantStride, kind, timestampMs, [by]: ranked, [other]: values }) {
        for (let row = 0; row < count; row++) {
          const at = row * stride;
          const index = ranked[at]!;
          if (index < 0 || !toLookUp.has(index)) continue;
          if (wanted[kind[row * kindStride]!] === 0) continue;
          const place = placeOf[index]! - 1;
          lastMs[place] = timestampMs[row * instantStride]!;
          if (ends[place] === starts[place + 1]) thin(place);
          listed[ends[place]!++] = values[at]!;
        }
      },
      end() {
        let length = 0;
        for (let place = 0; place < places; place++) {
          thin(place);
          listed.copyWithin(length, starts[place]!, ends[place]!);
          length += ends[place]! - starts[place]!;
          ends[place] = length;
        }
        const values = sharedIntegers(length);
        values.set(listed.subarray(0, length));
        return { values, ends, lastMs };
      },
    };
  },
};

/** The indices of the values that are not 0. */
function indicesOf(values: Int32Array): IndexSet {
  const indices = new IndexSet(values.length);
  for (let index = 0; index < values.length; index++) if (values[index] !== 0) indices.add(index);
  return indices;
}
