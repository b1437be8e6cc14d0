/** Reads events in batches: a page of them, or all of them with one batch read ahead. */
import type { Dataset } from '../../dataset/dataset.ts';
import type { EventBatch, EventPosition, EventQuery } from '../../dataset/query.ts';
import { readSelection } from '../../dataset/timeline.ts';

export interface BatchPage {
  readonly batches: readonly EventBatch[];
  /** Position of the last event of the page; absent if no event follows it. */
  readonly next: EventPosition | undefined;
}

/**
 * Up to this number of rows, a timeline is read synchronously, without the overhead of a stream.
 */
const ROWS_AT_ONCE = 8192;

/** The first events of a query, at most `limit`. */
export async function readPage(dataset: Dataset, query: EventQuery, limit: number): Promise<BatchPage> {
  // Read one more than requested to find out whether more follow.
  const wanted = limit + 1;
  const { timeline } = dataset;
  if (timeline !== undefined) {
    const selection = timeline.select(query);
    if (selection.to - selection.from <= ROWS_AT_ONCE) {
      return pageOf([...readSelection(timeline.events, selection, { limit: wanted })], limit);
    }
  }
  const batches: EventBatch[] = [];
  for await (const batch of dataset.events({ ...query, limit: wanted })) batches.push(batch);
  return pageOf(batches, limit);
}

/** `batches` contain at most one event more than `limit`. */
function pageOf(batches: readonly EventBatch[], limit: number): BatchPage {
  const last = batches.at(-1);
  const events = batches.reduce((sum, { count }) => sum + count, 0);
  if (last === undefined || events <= limit) return { batches, next: undefined };
  const others = batches.slice(0, -1);
  const kept = last.count === 1 ? others : [...others, { ...last, count: last.count - 1 }];
  return { batches: kept, next: lastPosition(kept) };
}

function lastPosition(batches: readonly EventBatch[]): EventPosition | undefined {
  const batch = batches.at(-1);
  if (batch === undefined) return undefined;
  const row = batch.count - 1;
  return { timestampMs: batch.timestampMs[row]!, sequence: batch.sequence[row]! };
}

/**
 * The values of the source; each is requested while the previous one is in use. Ending the
 * iteration early also ends the source.
 */
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
