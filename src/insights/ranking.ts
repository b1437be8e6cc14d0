/** Boards, users and pins with the most events, or with the latest events. */
import type { Dataset } from '../dataset/dataset.ts';
import type { UserOrder } from '../dataset/query.ts';
import { inSlices } from '../system/time-slice.ts';
import { type Asked, kindsOf, queryOf, scanEvents } from './scan.ts';
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
  const { index, count } = (await dataset.tally(queryOf(dataset, asked)))[by];
  const events = new Float64Array(sizeOf(dataset, by));
  await inSlices(0, index.length, (from, to) => {
    for (let place = from; place < to; place++) events[index[place]!] = count[place]!;
  });
  return events;
}

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

/** The instant of the latest event by index. */
async function findLast(dataset: Dataset, asked: Asked, by: RankingColumn): Promise<Float64Array> {
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

/** Pairs of a ranked index and a value of `other` in one scan: one bit each, 16 MB together. */
const MOST_PAIRS = 2 ** 27;

interface ToLookAt {
  readonly by: RankingColumn | 'pin';
  /** The indices in `by` to look up; only a few. */
  readonly indices: readonly number[];
  /** The column whose different values are counted. */
  readonly other: RankingColumn;
}

/** By position in `indices`: the number of distinct values of `other`, and the latest event. */
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
  // Positions count from 1; 0 means none.
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
