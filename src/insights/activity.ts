/** Activity over time: events and active users by period, and by hour of the week. */
import type { Dataset } from '../dataset/dataset.ts';
import type { EventBatch } from '../dataset/query.ts';
import type { Groups } from './groups.ts';
import { HeatMap } from './heat-map.ts';
import type { Periods } from './periods.ts';
import { type Asked, kindsOf, scanEvents } from './scan.ts';
import { SeriesCounts } from './series.ts';

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
  { column, groupOf, names }: Groups,
): Promise<Activity> {
  const wanted = kindsOf(dataset, asked.action);
  const seenIn = new Int32Array(dataset.counts.users);
  const people: number[] = [];
  const series = new SeriesCounts(names.length);
  let period = -1;
  let endMs = Number.NEGATIVE_INFINITY;
  await enterStart(asked, periods);
  await scanEvents(dataset, asked, async (batch) => {
    await enterAll(batch, wanted, periods);
    lengthen(people, periods);
    const { count, kind, actor, timestampMs } = batch;
    const values = batch[column];
    for (let row = 0; row < count; row++) {
      if (wanted[kind[row]!] === 0) continue;
      if (timestampMs[row]! >= endMs) {
        series.leave(period);
        period = periods.placeOf(timestampMs[row]!, period);
        endMs = periods.endOf(period);
      }
      series.add(groupOf[values[row]!]!);
      const person = actor[row]!;
      if (seenIn[person] === period + 1) continue;
      seenIn[person] = period + 1;
      people[period]! += 1;
    }
    series.refuseTooMany(periods.startsMs.length);
  });
  series.leave(period);
  await enterEnd(asked, periods);
  lengthen(people, periods);
  series.refuseTooMany(periods.startsMs.length);
  const events = await series.inPeriods(periods.startsMs.length);
  return { startsMs: periods.startsMs, endMs: periods.endMs, people, totals: series.totals, events };
}

/** Adds the first period of a range, even if it has no events. */
async function enterStart({ range: { startMs, endMs } }: Asked, periods: Periods): Promise<void> {
  if (startMs !== undefined && startMs !== endMs) await periods.reach(startMs);
}

async function enterEnd({ range: { startMs, endMs } }: Asked, periods: Periods): Promise<void> {
  if (startMs !== undefined && endMs !== undefined && startMs < endMs) await periods.reach(endMs - 1);
}

/** Adds the periods of those events of a batch that count and are not before `fromMs`. */
async function enterAll(
  { count, kind, timestampMs }: EventBatch,
  wanted: Uint8Array,
  periods: Periods,
  fromMs = Number.NEGATIVE_INFINITY,
): Promise<void> {
  let last = count - 1;
  while (last >= 0 && wanted[kind[last]!] === 0) last -= 1;
  if (last < 0 || timestampMs[last]! < Math.max(fromMs, periods.endMs)) return;
  let first = 0;
  while (wanted[kind[first]!] === 0 || timestampMs[first]! < fromMs) first += 1;
  await periods.reach(timestampMs[first]!);
  await periods.reach(timestampMs[last]!);
}

/** Adds counts of 0 until there is one for each period. */
function lengthen(counts: number[], { startsMs }: Periods): void {
  while (counts.length < startsMs.length) counts.push(0);
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
  const { startMs = Number.NEGATIVE_INFINITY } = asked.range;
  const wanted = kindsOf(dataset, asked.action);
  const known = new Uint8Array(dataset.counts.users);
  const seenIn = new Int32Array(dataset.counts.users);
  const newcomers: number[] = [];
  const returning: number[] = [];
  let period = -1;
  let endMs = Number.NEGATIVE_INFINITY;
  await enterStart(asked, periods);
  const sinceEver = { ...asked, range: { endMs: asked.range.endMs } };
  await scanEvents(dataset, sinceEver, async (batch) => {
    await enterAll(batch, wanted, periods, startMs);
    for (const counts of [newcomers, returning]) lengthen(counts, periods);
    const { count, kind, actor, timestampMs } = batch;
    for (let row = 0; row < count; row++) {
      if (wanted[kind[row]!] === 0) continue;
      const person = actor[row]!;
      if (timestampMs[row]! >= startMs) {
        if (timestampMs[row]! >= endMs) {
          period = periods.placeOf(timestampMs[row]!, period);
          endMs = periods.endOf(period);
        }
        if (seenIn[person] === period + 1) continue;
        seenIn[person] = period + 1;
        (known[person] === 1 ? returning : newcomers)[period]! += 1;
      }
      known[person] = 1;
    }
  });
  await enterEnd(asked, periods);
  for (const counts of [newcomers, returning]) lengthen(counts, periods);
  return { startsMs: periods.startsMs, endMs: periods.endMs, newcomers, returning };
}

/** Events by hour of the week; the first hour is Monday, 0 to 1 o'clock. */
export async function countHoursOfWeek(dataset: Dataset, asked: Asked, zone: string): Promise<Float64Array> {
  const wanted = kindsOf(dataset, asked.action);
  const map = new HeatMap(zone);
  await scanEvents(dataset, asked, ({ count, kind, timestampMs }) => {
    for (let row = 0; row < count; row++) if (wanted[kind[row]!] === 1) map.add(timestampMs[row]!);
  });
  return map.counts;
}
