/** Boards and people with the most events, or the latest. */
import type { Dataset } from '../dataset/dataset.ts';
import type { UserOrder } from '../dataset/query.ts';
import { type Asked, kindsOf, queryOf, scanEvents } from './scan.ts';

export const ORDERS = ['events', 'recent'] as const;
export type Order = (typeof ORDERS)[number];

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
  { order, most }: { readonly order: Order; readonly most: number },
): Promise<Ranked[]> {
  const events = await countEvents(dataset, asked, by);
  const users = by === 'actor' ? await dataset.userOrder?.() : undefined;
  const ranked = topOf(events, users);
  if (order === 'recent') {
    const lastMs = await findLast(dataset, asked, by);
    const placeOf = (index: number) => users?.places[index] ?? index;
    ranked.sort((one, other) => lastMs[other]! - lastMs[one]! || placeOf(one) - placeOf(other));
  }
  const top = ranked.slice(0, most);
  const looked: Looked[] = [];
  const others = by === 'board' ? dataset.counts.users : dataset.counts.boards;
  const atOnce = Math.max(1, Math.floor(MOST_PAIRS / Math.max(1, others)));
  for (let first = 0; first < top.length; first += atOnce) {
    looked.push(...(await lookAt(dataset, asked, by, top.slice(first, first + atOnce), others)));
  }
  return top.map((index, place) => ({ index, events: events[index]!, ...looked[place]! }));
}

/** By index: the number of events. */
export async function countEvents(dataset: Dataset, asked: Asked, by: Column): Promise<Float64Array> {
  const { index, count } = (await dataset.tally(queryOf(dataset, asked)))[by];
  const events = new Float64Array(sizeOf(dataset, by));
  for (let place = 0; place < index.length; place++) events[index[place]!] = count[place]!;
  return events;
}

/** Indices of what is above 0, largest first; of equal ones, in their order. Counts are of events: integers. */
export function topOf(counts: Float64Array, order?: UserOrder): number[] {
  const size = counts.length;
  // One number for both keys of the order: sorting numbers takes a fraction of sorting by a function.
  const keys = new Float64Array(size);
  let found = 0;
  for (let place = 0; place < size; place++) {
    const count = counts[order?.byPlace[place] ?? place]!;
    if (count > 0) keys[found++] = count * size + (size - 1 - place);
  }
  return Array.from(keys.subarray(0, found).sort().reverse(), (key) => {
    const place = size - 1 - (key % size);
    return order?.byPlace[place] ?? place;
  });
}

function sizeOf({ counts }: Dataset, by: Column): number {
  return by === 'board' ? counts.boards : counts.users;
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

/** For each of a few boards the different people on its events, and the other way round; and its latest event. */
async function lookAt(
  dataset: Dataset,
  asked: Asked,
  by: Column,
  indices: readonly number[],
  others: number,
): Promise<Looked[]> {
  const wanted = kindsOf(dataset, asked.action);
  const placeOf = new Int32Array(sizeOf(dataset, by)).fill(-1);
  for (const [place, index] of indices.entries()) placeOf[index] = place;
  const seen = new Int32Array(Math.ceil((indices.length * others) / 32));
  const counts = new Int32Array(indices.length);
  const lastMs = new Float64Array(indices.length);
  await scanEvents(dataset, asked, (batch) => {
    const { count, kind, timestampMs } = batch;
    const [ranked, other] = by === 'board' ? [batch.board, batch.actor] : [batch.actor, batch.board];
    for (let row = 0; row < count; row++) {
      const place = placeOf[ranked[row]!]!;
      if (place < 0 || wanted[kind[row]!] === 0) continue;
      lastMs[place] = timestampMs[row]!;
      const pair = place * others + other[row]!;
      const bit = 1 << (pair & 31);
      if ((seen[pair >> 5]! & bit) !== 0) continue;
      seen[pair >> 5]! |= bit;
      counts[place]! += 1;
    }
  });
  return indices.map((_, place) => ({ others: counts[place]!, lastMs: lastMs[place]! }));
}
