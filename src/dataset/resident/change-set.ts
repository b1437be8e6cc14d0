/**
 * Finds the rows of a timeline in memory that have changed since an earlier version (decision 19).
 */
import { slice } from '../../system/time-slice.ts';
import type { Revisions } from '../query.ts';
import { sharedIntegers } from '../shared-arrays.ts';
import { changedRows, rowHasChanged, type Timeline } from '../timeline.ts';

/** More rows are not listed: reading all rows takes no longer. */
const MOST_LISTED = 65_536;
/** Rows between two checks of the clock. */
const ROWS_AT_ONCE = 8_192;

/** Adds `rows` to a change set, unless there are more than `MOST_LISTED`. In time slices. */
export async function findChanged({ events }: Timeline, revisions: Revisions): Promise<Revisions> {
  const changed = changedRows(revisions);
  const found: number[] = [];
  for (let row = 0; row < events.count; row++) {
    if (row % ROWS_AT_ONCE === 0 && slice.isOver()) await slice.pass();
    if (rowHasChanged(events, changed, row)) found.push(row);
    if (found.length > MOST_LISTED) return revisions;
  }
  const rows = sharedIntegers(found.length);
  rows.set(found);
  return { ...revisions, rows };
}
