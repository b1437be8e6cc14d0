/** Boards, people and pins with the most events, or the latest. */
import type { Dataset } from '../dataset/dataset.ts';
import type { UserOrder } from '../dataset/query.ts';
import { inSlices } from '../system/time-slice.ts';
import { type Asked, kindsOf, queryOf, scanEvents } from './scan.ts';
import { Top } from './top.ts';

export const ORDERS = ['events', 'recent'] as const;
export type RankingOrder = (typeof ORDERS)[number];

/** What is ranked: boards, or people by what they do. */
type Column = 'board' | 'actor';

export interface Ranked {
  /** Index of the board, or of the person who acts. */
  readonly index: number;
  readonly events: number;
  /** Of a board the people who act on it, of a person the boards. */
  readonly others: number;
  readonly lastMs: number;
}

/**
 * At most `most`, those with the most events or with the latest event first; of equal ones, in
 * their order.
 */
export async function rank(
  dataset: Dataset,
  asked: Asked,
  by: Column,
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

/** By index: the number of events. */
export async function countEvents(dataset: Dataset, asked: Asked, by: Column): Promise<Float64Array> {
  const { index, count } = (await dataset.tally(queryOf(dataset, asked)))[by];
  const events = new Float64Array(sizeOf(dataset, by));
  await inSlices(0, index.length, (from, to) => {
    for (let place = from; place < to; place++) events[index[place]!] = count[place]!;
  });
  return events;
}

interface Ranking {
  /** By index; the counts unless they are given. */
  readonly ranks?: Float64Array;
  /** The order of equal ones; that of the indices unless it is given. */
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

function sizeOf({ counts }: Dataset, column: Column | 'pin'): number {
  return { board: counts.boards, actor: counts.users, pin: counts.pins }[column];
}

/** By index: the instant of the latest event. */
async function findLast(dataset: Dataset, asked: Asked, by: Column): Promise<Float64Array> {
  const wanted = kindsOf(dataset, asked.action);
  const lastMs = new Float64Array(sizeOf(dataset, by));
  await scanEvents(dataset, asked, ({ count, kind, timestampMs, [by]: values }) => {
    for (let row = 0; row < count; row++) {
      if (wanted[kind[row]!] === 1) lastMs[values[row]!] = timestampMs[row]!;
    }
  });
  return lastMs;
}

type Looked = Pick<Ranked, 'others' | 'lastMs'>;

/** Pairs of something ranked and another that are looked at together: a bit for each, 16 MB. */
const MOST_PAIRS = 2 ** 27;

interface ToLookAt {
  readonly by: Column | 'pin';
  /** A few of them. */
  readonly indices: readonly number[];
  /** The column whose different values are counted. */
  readonly other: Column;
}

/** By place in `indices`: the number of different others in its events, and its latest event. */
export async function lookAt(dataset: Dataset, asked: Asked, { by, indices, other }: ToLookAt) {
  const looked: Looked[] = [];
  const atOnce = Math.max(1, Math.floor(MOST_PAIRS / Math.max(1, sizeOf(dataset, other))));
  for (let first = 0; first < indices.length; first += atOnce) {
    const some = indices.slice(first, first + atOnce);
    looked.push(...(await lookAtOnce(dataset, asked, { by, indices: some, other })));
  }
  return looked;
}

async function lookAtOnce(
  dataset: Dataset,
  asked: Asked,
  { by, indices, other }: ToLookAt,
): Promise<Looked[]> {
  const wanted = kindsOf(dataset, asked.action);
  const others = sizeOf(dataset, other);
  // Counted from 1; 0 is none.
  const placeOf = new Int32Array(sizeOf(dataset, by));
  for (const [place, index] of indices.entries()) placeOf[index] = place + 1;
  const seen = new Int32Array(Math.ceil((indices.length * others) / 32));
  const counts = new Int32Array(indices.length);
  const lastMs = new Float64Array(indices.length);
  await scanEvents(dataset, asked, ({ count, kind, timestampMs, [by]: ranked, [other]: values }) => {
    for (let row = 0; row < count; row++) {
      const index = ranked[row]!;
      const place = index < 0 ? -1 : placeOf[index]! - 1;
      if (place < 0 || wanted[kind[row]!] === 0) continue;
      lastMs[place] = timestampMs[row]!;
      const pair = place * others + values[row]!;
      const bit = 1 << (pair & 31);
      if ((seen[pair >> 5]! & bit) !== 0) continue;
      seen[pair >> 5]! |= bit;
      counts[place]! += 1;
    }
  });
  return indices.map((_, place) => ({ others: counts[place]!, lastMs: lastMs[place]! }));
}
