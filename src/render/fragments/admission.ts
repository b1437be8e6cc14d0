/**
 * Decides when an events response is large, and how much memory it takes while it is sent
 * (decision 60).
 */
import type { Dataset } from '../../dataset/dataset.ts';
import type { EventQuery } from '../../dataset/query.ts';
import type { Admit } from '../text/rendered-body.ts';
import { type BatchPage, readPage } from './batches.ts';

/**
 * A response of at most this number of events is held as columns and needs one query; a larger one
 * is tallied first.
 */
export const HELD_EVENTS = 2048;

/**
 * The maximum memory of a response that is held as columns, in bytes: two chunks, and the buffer of
 * the socket.
 */
export const HELD_BYTES = 1024 * 1024;
/** The maximum measured with clients that stop reading, plain and compressed, in bytes. */
const HELD_OF_TIMELINE_BYTES = 9e6;
/** The same if events are read from the store. */
const HELD_OF_STORE_BYTES = 23e6;

/** Approximate memory of a response that is not held as columns, in bytes at a time. */
export function heldBytesOf({ timeline }: Dataset): number {
  return timeline === undefined ? HELD_OF_STORE_BYTES : HELD_OF_TIMELINE_BYTES;
}

/**
 * Reads the page that a query requests, or its first events if it has no limit. `isHeld`: the page
 * is the whole response. Calls `admit` if the response is large. Call this before awaiting anything
 * for which many requests wait. Otherwise refused requests would wait too, and would be refused all
 * at once.
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

/** Whether measuring the page takes some milliseconds; it then has more than 256 KiB. */
function isLargePage({ batches }: BatchPage): boolean {
  return batches.reduce((events, { count }) => events + count, 0) > HELD_EVENTS;
}
