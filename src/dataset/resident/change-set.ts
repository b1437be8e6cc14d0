/**
 * Finds the rows of a timeline in memory that have changed since an earlier version (decision 19).
 */
import { slice } from '../../system/time-slice.ts';
import type { Revisions } from '../query.ts';
import { rangesOf } from '../row-runs.ts';
import { sharedIntegers } from '../shared-arrays.ts';
import { changedRows, rowHasChanged, type Timeline } from '../timeline.ts';

/** More rows are not listed: reading all rows takes no longer. */
const MOST_LISTED = 65_536;
/** Rows between two checks of the clock. */
const ROWS_AT_ONCE = 8_192;

/**
 * Adds `rows`, in the order of the timeline, to a change set, unless there are more than
 * `MOST_LISTED`. In time slices.
 */
export async function findChanged({ events }: Timeline, revisions: Revisions): Promise<Revisions> {
  const changed = changedRows(revisions);
  const found: number[] = [];
  for (const { from, to, shift } of rangesOf(events.runs, 0, events.count)) {
    for (let at = from; at < to; at++) {
      if (at % ROWS_AT_ONCE === 0 && slice.isOver()) await slice.pass();
      if (rowHasChanged(events, changed, at + shift)) found.push(at + shift);
      if (found.length > MOST_LISTED) return revisions;
    }
  }
  const rows = sharedIntegers(found.length);
  rows.set(found);
  return { ...revisions, rows };
}
