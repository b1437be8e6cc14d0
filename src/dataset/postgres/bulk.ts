/** How much is joined is known to whoever publishes better than to PostgreSQL's planner. */
import type { Draft } from './draft.ts';

/** Up to so many rows that a publication touches are looked up one by one. */
export const FEW_ROWS = 5_000;

/**
 * Runs statements that join `rows` rows, or about as many, with what is published. The planner knows nothing of rows
 * that are written in the same transaction, and little of an organization that was not there at the last ANALYZE: it
 * takes a million for one. A nested loop planned on that could take hours, so many rows are joined by hash.
 */
export async function joiningRows(draft: Draft, rows: number, work: () => Promise<void>): Promise<void> {
  if (rows <= FEW_ROWS) return await work();
  await draft.run('SET LOCAL enable_nestloop = off');
  // An error needs no undoing: it ends the transaction, and the setting with it.
  await work();
  await draft.run('SET LOCAL enable_nestloop TO DEFAULT');
}
