/**
 * Joins the counts of few actors with others, so that no number of a group says what few users did
 * (decision 104).
 */
import { inSlices } from '../system/time-slice.ts';

/** By position of a group: a number for each period; undefined if all are 0. */
type Figures = readonly (Int32Array | undefined)[];

interface PeriodCounts {
  readonly events: Figures;
  readonly actors: Figures;
}

interface Joining extends PeriodCounts {
  /** The last group, which others are added to. */
  readonly last: Int32Array;
  readonly fewest: number;
}

/**
 * Counts of events in which those of fewer than `fewest` actors are added to the last group. If its
 * actors are too few, too, it gets those of the last group that has enough. None has enough if too
 * few act in the period altogether. Uses up the events that it is given.
 *
 * Which counts are added depends only on the period and on the order of the groups. If it depended
 * on how many groups are shown, two requests together would show what is hidden in each.
 */
export async function joinSmallCounts(
  { events, actors }: PeriodCounts,
  periods: number,
  fewest: number,
): Promise<(Int32Array | undefined)[]> {
  const last = events.at(-1) ?? new Int32Array(periods);
  await inSlices(0, periods, (from, to) => {
    for (let period = from; period < to; period++) joinPeriod({ events, actors, last, fewest }, period);
  });
  const joined = [...events.slice(0, -1), last];
  return joined.map((counts) => (counts?.some((count) => count > 0) ? counts : undefined));
}

function joinPeriod({ events, actors, last, fewest }: Joining, period: number): void {
  const lastGroup = actors.length - 1;
  let joined = actors[lastGroup]?.[period] ?? 0;
  let lastWithEnough: number | undefined;
  const join = (group: number) => {
    last[period]! += events[group]![period]!;
    events[group]![period] = 0;
    joined += actors[group]![period]!;
  };
  for (let group = 0; group < lastGroup; group++) {
    const count = actors[group]?.[period] ?? 0;
    if (count >= fewest) lastWithEnough = group;
    else if (count > 0) join(group);
  }
  if (joined > 0 && joined < fewest && lastWithEnough !== undefined) join(lastWithEnough);
}
