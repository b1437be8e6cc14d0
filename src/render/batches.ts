/** Reading events in batches: a page of them, or all with one batch ahead. */
import type { Dataset } from '../dataset/dataset.ts';
import type { EventBatch, EventPosition, EventQuery } from '../dataset/query.ts';

export interface Page {
  readonly batches: readonly EventBatch[];
  /** Position of the last event of the page; absent when no event follows it. */
  readonly next: EventPosition | undefined;
}

/** The first events of a query, at most `limit`. */
export async function readPage(dataset: Dataset, query: EventQuery, limit: number): Promise<Page> {
  const batches: EventBatch[] = [];
  let room = limit;
  // One more than wanted tells whether more follow.
  for await (const batch of dataset.events({ ...query, limit: limit + 1 })) {
    const count = Math.min(batch.count, room);
    if (count > 0) batches.push({ ...batch, count });
    if (count < batch.count) return { batches, next: lastPosition(batches) };
    room -= count;
  }
  return { batches, next: undefined };
}

function lastPosition(batches: readonly EventBatch[]): EventPosition | undefined {
  const batch = batches.at(-1);
  if (batch === undefined) return undefined;
  const row = batch.count - 1;
  return { timestampMs: batch.timestampMs[row]!, sequence: batch.sequence[row]! };
}

/** The values of the source, each asked for while the one before is in use. Ending early ends the source. */
export async function* readAhead<T>(source: AsyncIterable<T>): AsyncGenerator<T, void> {
  const iterator = source[Symbol.asyncIterator]();
  let ended = false;
  const read = () => {
    const result = iterator.next();
    // It is awaited later, or never when the consumer ends first.
    result.catch(() => {
      ended = true;
    });
    return result;
  };
  try {
    let ahead = read();
    for (;;) {
      const result = await ahead;
      if (result.done === true) {
        ended = true;
        return;
      }
      ahead = read();
      yield result.value;
    }
  } finally {
    if (!ended) await iterator.return?.();
  }
}
