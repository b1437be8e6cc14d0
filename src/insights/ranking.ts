/** Boards, users and pins with the most events, or with the latest events. */
import type { Dataset } from '../dataset/dataset.ts';
import type { UserOrder } from '../dataset/query.ts';
import type { Selection } from '../dataset/selection.ts';
import { sharedIntegers } from '../dataset/shared-arrays.ts';
import { isEverything, streamSelection } from '../dataset/timeline.ts';
import { inSlices } from '../system/time-slice.ts';
import { type Counter, sumOf } from './counter.ts';
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
  const looked = await lookAt(dataset, asked, { by, indices: top, other });
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
      see({ count, stride, kind, [by]: values }) {
        for (let at = 0; at < count * stride; at += stride) {
          if (wanted[kind[at]!] === 1) events[values[at]!]! += 1;
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
      see({ count, stride, instantStride, kind, timestampMs, [by]: values }) {
        for (let row = 0; row < count; row++) {
          const at = row * stride;
          if (wanted[kind[at]!] === 1) lastMs[values[at]!] = timestampMs[row * instantStride]!;
        }
      },
      end: () => lastMs,
    };
  },
};

type Looked = Pick<Ranked, 'others' | 'lastMs'>;

/**
 * Pairs of a ranked index and a value of `other` in one scan: one bit each, 16 MB together. With
 * more, scans are fewer and take longer, because the bits are further apart.
 */
const MOST_PAIRS = 2 ** 27;
/** Reading a row here and there takes this many times as long as reading it in a scan. */
const SCATTERED_COST = 16;

interface ToLookAt {
  readonly by: RankingColumn | 'pin';
  /** The indices in `by` to look up; only a few. */
  readonly indices: readonly number[];
  /** The column whose different values are counted. */
  readonly other: RankingColumn;
}

/** By position in `indices`: the number of distinct values of `other`, and the latest event. */
export async function lookAt(dataset: Dataset, asked: Asked, { by, indices, other }: ToLookAt) {
  const atOnce = Math.max(1, Math.floor(MOST_PAIRS / Math.max(1, sizeOf(dataset, other))));
  const scans = Math.ceil(indices.length / atOnce);
  const selections = selectEach(dataset, asked, by, indices, scans);
  if (selections !== undefined) return await lookAtEach(dataset, selections, other);
  const looked: Looked[] = [];
  for (let first = 0; first < indices.length; first += atOnce) {
    const some = indices.slice(first, first + atOnce);
    looked.push(...(await lookAtOnce(dataset, asked, { by, indices: some, other })));
  }
  return looked;
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
  // By index in `other`: the last selection in which it occurred, counted from 1.
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
  { by, indices, other }: ToLookAt,
): Promise<Looked[]> {
  // Positions count from 1; 0 means none.
  const placeOf = sharedIntegers(sizeOf(dataset, by));
  for (const [place, index] of indices.entries()) placeOf[index] = place + 1;
  const words = Math.ceil(sizeOf(dataset, other) / 32);
  const input = { by, other, placeOf, places: indices.length, words, wanted: kindsOf(dataset, asked.action) };
  const parts = await countSelected(dataset, asked, PAIRS, input);
  const lastMs = await latestOf(parts.map((part) => part.lastMs));
  const counts = new Int32Array(indices.length);
  await inSlices(0, parts[0]!.seen.length, (from, to) => {
    for (let at = from; at < to; at++) {
      let seen = 0;
      for (const part of parts) seen |= part.seen[at]!;
      if (seen !== 0) counts[Math.floor(at / words)]! += bitsOf(seen);
    }
  });
  return indices.map((_, place) => ({ others: counts[place]!, lastMs: lastMs[place]! }));
}

interface PairsInput extends Omit<ToLookAt, 'indices'> {
  /** By index in `by`: 1 + position of the index among those to look up; 0 if it is not one. */
  readonly placeOf: Int32Array;
  readonly places: number;
  /** Words of 32 bits for one position: a bit for each index in `other`. */
  readonly words: number;
  readonly wanted: Uint8Array;
}

interface PairsPart {
  /** By position, then by index in `other`: whether an event has both. */
  readonly seen: Int32Array;
  /** By position: the instant of the latest event. */
  readonly lastMs: Float64Array;
}

export const PAIRS: Counter<PairsInput, PairsPart> = {
  name: 'pairs',
  start({ by, other, placeOf, places, words, wanted }) {
    const seen = new Int32Array(places * words);
    const lastMs = new Float64Array(places).fill(Number.NEGATIVE_INFINITY);
    return {
      see({ count, stride, instantStride, kind, timestampMs, [by]: ranked, [other]: values }) {
        for (let row = 0; row < count; row++) {
          const at = row * stride;
          const index = ranked[at]!;
          const place = index < 0 ? -1 : placeOf[index]! - 1;
          if (place < 0 || wanted[kind[at]!] === 0) continue;
          lastMs[place] = timestampMs[row * instantStride]!;
          const value = values[at]!;
          seen[place * words + (value >>> 5)]! |= 1 << (value & 31);
        }
      },
      end: () => ({ seen, lastMs }),
    };
  },
};

/** The number of bits that are set in a word of 32 bits. */
function bitsOf(word: number): number {
  const twos = word - ((word >>> 1) & 0x55555555);
  const fours = (twos & 0x33333333) + ((twos >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
