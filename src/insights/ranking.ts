/** Boards and people with the most events, or the latest. */
import type { Dataset } from '../dataset/dataset.ts';
import { topOf } from './groups.ts';
import { type Asked, kindsOf, scanEvents } from './scan.ts';

export const ORDERS = ['events', 'recent'] as const;
export type Order = (typeof ORDERS)[number];

export interface Ranked {
  /** Index of the board, or of the person who acts. */
  readonly index: number;
  readonly events: number;
  /** Of a board the people who act on it, of a person the boards. */
  readonly others: number;
  readonly lastMs: number;
}

/** At most `most`, those with the most events or with the latest event first; of equal ones the lower index. */
export async function rank(
  dataset: Dataset,
  asked: Asked,
  by: 'board' | 'actor',
  { order, most }: { readonly order: Order; readonly most: number },
): Promise<Ranked[]> {
  const size = by === 'board' ? dataset.counts.boards : dataset.counts.users;
  const wanted = kindsOf(dataset, asked.action);
  const events = new Float64Array(size);
  const lastMs = new Float64Array(size).fill(Number.NEGATIVE_INFINITY);
  await scanEvents(dataset, asked, (batch) => {
    const { count, kind, timestampMs } = batch;
    const values = batch[by];
    for (let row = 0; row < count; row++) {
      if (wanted[kind[row]!] === 0) continue;
      events[values[row]!]! += 1;
      lastMs[values[row]!] = timestampMs[row]!;
    }
  });
  const ranked = topOf(events);
  if (order === 'recent') ranked.sort((one, other) => lastMs[other]! - lastMs[one]! || one - other);
  const top = ranked.slice(0, most);
  const others = await countOthers(dataset, asked, by, top);
  return top.map((index, place) => ({
    index,
    events: events[index]!,
    others: others[place]!,
    lastMs: lastMs[index]!,
  }));
}

/** For each of a few boards the different people on their events, and the other way round. */
async function countOthers(
  dataset: Dataset,
  asked: Asked,
  by: 'board' | 'actor',
  indices: readonly number[],
): Promise<number[]> {
  const { boards, users } = dataset.counts;
  const wanted = kindsOf(dataset, asked.action);
  const seenBy = new Int32Array(by === 'board' ? users : boards);
  const counts: number[] = [];
  for (const [place, index] of indices.entries()) {
    counts.push(0);
    // Only the events of this one are read, which an index finds.
    await scanEvents(dataset, { ...asked, [by === 'board' ? 'board' : 'user']: index }, (batch) => {
      const others = by === 'board' ? batch.actor : batch.board;
      for (let row = 0; row < batch.count; row++) {
        const other = others[row]!;
        if (wanted[batch.kind[row]!] === 0 || seenBy[other] === place + 1) continue;
        seenBy[other] = place + 1;
        counts[place]! += 1;
      }
    });
  }
  return counts;
}
