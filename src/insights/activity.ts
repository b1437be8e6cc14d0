/** Activity over time: events, active users, and newcomers by period. */
import type { Dataset } from '../dataset/dataset.ts';
import { type Groups, noGroups } from './groups.ts';
import { PERIODS, PeriodTotals } from './period-counter.ts';
import type { Periods } from './periods.ts';
import { type Asked, countSelected, kindsOf } from './scan.ts';
import { joinSmallCounts } from './small-counts.ts';

export interface Activity {
  /** The starts of the periods, ascending, and the end of the last one. */
  readonly startsMs: readonly number[];
  readonly endMs: number;
  /** The number of actors in each period. */
  readonly people: readonly number[];
  /** By position of the group: its number of events, and that in each period, undefined if 0. */
  readonly totals: Float64Array;
  readonly events: readonly (Int32Array | undefined)[];
}

/**
 * Counts events and actors by period. Periods extend from the start of the range, or the first
 * event, to the end of the range, or the last event. Throws `range-too-fine` for too many periods
 * or too many counts.
 */
export async function countActivity(
  dataset: Dataset,
  asked: Asked,
  periods: Periods,
  groups: Groups,
): Promise<Activity> {
  const { people, series, actorsOf } = await countPeriods(dataset, asked, periods, groups);
  const { startsMs, endMs } = periods;
  const counted = { startsMs, endMs, people };
  const events = await series.inPeriods(startsMs.length);
  if (actorsOf === undefined) return { ...counted, totals: series.totals, events };
  const inGroups = await actorsOf.inPeriods(startsMs.length);
  const joined = await joinSmallCounts({ events, actors: inGroups }, startsMs.length, groups.fewestActors!);
  return { ...counted, totals: Float64Array.from(joined, sumOfCounts), events: joined };
}

function sumOfCounts(counts: Int32Array | undefined): number {
  return counts?.reduce((sum, count) => sum + count, 0) ?? 0;
}

export interface Returning {
  readonly startsMs: readonly number[];
  readonly endMs: number;
  /** By period: users who act for the first time ever, and users who have acted before. */
  readonly newcomers: readonly number[];
  readonly returning: readonly number[];
}

/** "First time" includes all events before the range that the key can see. */
export async function countReturning(dataset: Dataset, asked: Asked, periods: Periods): Promise<Returning> {
  const counted = { ...asked, range: { endMs: asked.range.endMs } };
  const { people, newcomers } = await countPeriods(dataset, counted, periods, noGroups(dataset), asked.range);
  const returning = people.map((all, period) => all - newcomers[period]!);
  return { startsMs: periods.startsMs, endMs: periods.endMs, newcomers, returning };
}

/** Counts the selected events; those before `range` are in no period. */
async function countPeriods(
  dataset: Dataset,
  asked: Asked,
  periods: Periods,
  { column, groupOf, names, fewestActors }: Groups,
  range = asked.range,
): Promise<PeriodTotals> {
  const { users } = dataset.counts;
  const groups = names.length;
  const countsActors = fewestActors !== undefined;
  const totals = new PeriodTotals(periods, users, { groups, groupOf, countsActors });
  await enterStart(range, periods);
  const parts = await countSelected(dataset, asked, PERIODS, {
    ...{ interval: periods.interval, zone: periods.zone, fromMs: range.startMs ?? Number.NEGATIVE_INFINITY },
    ...{ users, wanted: kindsOf(dataset, asked.action) },
    ...{ column, groupOf, groups, countsActors },
  });
  for (const part of parts) await totals.add(part);
  await enterEnd(range, periods);
  totals.lengthen();
  // Whether a group of few actors has events must not show in a refusal either.
  totals.series.refuseTooMany(periods.startsMs.length, countsActors ? groups : undefined);
  return totals;
}

/** Adds the first period of a range, even if it has no events. */
async function enterStart({ startMs, endMs }: Asked['range'], periods: Periods): Promise<void> {
  if (startMs !== undefined && startMs !== endMs) await periods.reach(startMs);
}

async function enterEnd({ startMs, endMs }: Asked['range'], periods: Periods): Promise<void> {
  if (startMs !== undefined && endMs !== undefined && startMs < endMs) await periods.reach(endMs - 1);
}
