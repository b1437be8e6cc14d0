/**
 * Joins the counts of few people with others, so that no number of a response says what a group of
 * few people did (decision 104).
 */
import { inSlices } from '../system/time-slice.ts';

/** By position of a group: a number for each period; undefined if all are 0. */
type Figures = readonly (Int32Array | undefined)[];

interface PeriodCounts {
  readonly events: Figures;
  /** The actors of the events. */
  readonly people: Figures;
}

interface Joining extends PeriodCounts {
  /** The last group, which others are added to. */
  readonly last: Int32Array;
  readonly fewest: number;
}

/**
 * Counts of events in which those of fewer than `fewest` actors are added to the last group. If its
 * actors are too few, too, it gets further counts, those of the last groups first, until they are
 * enough or no other group has events in the period. Uses up the events that it is given.
 *
 * Which counts are added depends only on the period and on the order of the groups. If it depended
 * on how many groups are shown, two requests together would show what is hidden in each.
 */
export async function joinSmallCounts(
  { events, people }: PeriodCounts,
  periods: number,
  fewest: number,
): Promise<(Int32Array | undefined)[]> {
  const last = events.at(-1) ?? new Int32Array(periods);
  await inSlices(0, periods, (from, to) => {
    for (let period = from; period < to; period++) joinPeriod({ events, people, last, fewest }, period);
  });
  const joined = [...events.slice(0, -1), last];
  return joined.map((counts) => (counts?.some((count) => count > 0) ? counts : undefined));
}

function joinPeriod({ events, people, last, fewest }: Joining, period: number): void {
  let joined = people.at(-1)?.[period] ?? 0;
  const join = (group: number) => {
    last[period]! += events[group]![period]!;
    events[group]![period] = 0;
    joined += people[group]![period]!;
  };
  const enough: number[] = [];
  for (const [group, counts] of people.slice(0, -1).entries()) {
    const actors = counts?.[period] ?? 0;
    if (actors >= fewest) enough.push(group);
    else if (actors > 0) join(group);
  }
  while (joined > 0 && joined < fewest && enough.length > 0) join(enough.pop()!);
}
