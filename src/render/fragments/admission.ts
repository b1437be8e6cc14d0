/** When an answer about events is large, and what it holds while it is sent (decision 60). */
import type { Dataset } from '../../dataset/dataset.ts';
import type { EventQuery } from '../../dataset/query.ts';
import type { Admit } from '../text/answer.ts';
import { type BatchPage, readPage } from './batches.ts';

/** An answer of at most so many events is held as columns and needs one query; a larger one is tallied first. */
export const HELD_EVENTS = 2048;

/** What an answer that is held as columns takes at most: two chunks, and what the socket holds. */
export const HELD_BYTES = 1024 * 1024;
/** The most that was measured for clients that stop reading, plain and compressed. */
const HELD_OF_TIMELINE_BYTES = 9e6;
/** The same when events are read from the store. */
const HELD_OF_STORE_BYTES = 23e6;

/** What an answer that is not held as columns takes in memory at a time, about. */
export function heldBytesOf({ timeline }: Dataset): number {
  return timeline === undefined ? HELD_OF_STORE_BYTES : HELD_OF_TIMELINE_BYTES;
}

/**
 * Reads the page that a query asks for, or its first events. `isHeld`: they are the whole response.
 * Calls `admit` when it is large. To be called before anything is awaited for which many requests
 * wait, so that those that are refused neither wait nor are refused all at once.
 */
export async function readAdmitted(
  dataset: Dataset,
  query: EventQuery,
  admit: Admit | undefined,
): Promise<{ readonly page: BatchPage; readonly isHeld: boolean }> {
  const page = await readPage(dataset, query, query.limit ?? HELD_EVENTS);
  const isHeld = query.limit !== undefined || page.next === undefined;
  if (!isHeld || isLargePage(page)) await admit?.(isHeld ? HELD_BYTES : heldBytesOf(dataset));
  return { page, isHeld };
}

/** Whether it takes some milliseconds to measure; its bytes are more than 256 KiB then. */
function isLargePage({ batches }: BatchPage): boolean {
  return batches.reduce((events, { count }) => events + count, 0) > HELD_EVENTS;
}
