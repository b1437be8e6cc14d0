/** Activity over time: events and active people by period, and when in the week. */
import type { Dataset } from '../dataset/dataset.ts';
import type { Groups } from './groups.ts';
import { HeatMap } from './heat-map.ts';
import type { Periods } from './periods.ts';
import { type Asked, kindsOf, scanEvents } from './scan.ts';

export interface Activity {
  /** Where periods begin, and where the last one ends. */
  readonly startsMs: readonly number[];
  readonly endMs: number;
  /** People who act in each period. */
  readonly people: readonly number[];
  /** By place of the group: events in each period. */
  readonly events: readonly (readonly number[])[];
}

/** Periods from the start of the range, or the first event, to the end of the range, or the last event. */
export async function countActivity(
  dataset: Dataset,
  asked: Asked,
  periods: Periods,
  { column, groupOf, names }: Groups,
): Promise<Activity> {
  const wanted = kindsOf(dataset, asked.action);
  const seenIn = new Int32Array(dataset.counts.users);
  const people: number[] = [];
  const events = names.map((): number[] => []);
  // Of the period at hand, by place of the group.
  const eventsNow = new Int32Array(names.length);
  let peopleNow = 0;
  const leave = () => {
    if (people.length === 0) return;
    people[people.length - 1] = peopleNow;
    for (const [place, counts] of events.entries()) counts[counts.length - 1] = eventsNow[place]!;
  };
  const enter = (ms: number) => {
    const period = periods.indexOf(ms);
    if (period < people.length) return;
    leave();
    for (const counts of [people, ...events]) while (counts.length <= period) counts.push(0);
    eventsNow.fill(0);
    peopleNow = 0;
  };
  enterStart(asked, enter);
  await scanEvents(dataset, asked, (batch) => {
    const { count, kind, actor, timestampMs } = batch;
    const values = batch[column];
    let { endMs } = periods;
    for (let row = 0; row < count; row++) {
      if (wanted[kind[row]!] === 0) continue;
      if (timestampMs[row]! >= endMs) {
        enter(timestampMs[row]!);
        endMs = periods.endMs;
      }
      eventsNow[groupOf[values[row]!]!]! += 1;
      const person = actor[row]!;
      if (seenIn[person] === people.length) continue;
      seenIn[person] = people.length;
      peopleNow += 1;
    }
  });
  enterEnd(asked, enter);
  leave();
  return { startsMs: periods.startsMs, endMs: periods.endMs, people, events };
}

/** A range has periods from its start on, whether something happens in them or not. */
function enterStart({ range: { startMs, endMs } }: Asked, enter: (ms: number) => void): void {
  if (startMs !== undefined && startMs !== endMs) enter(startMs);
}

function enterEnd({ range: { startMs, endMs } }: Asked, enter: (ms: number) => void): void {
  if (startMs !== undefined && endMs !== undefined && startMs < endMs) enter(endMs - 1);
}

export interface Returning {
  readonly startsMs: readonly number[];
  readonly endMs: number;
  /** People who act for the first time of all, and people who have acted in an earlier period. */
  readonly newcomers: readonly number[];
  readonly returning: readonly number[];
}

/** "For the first time" looks back before the range, as far as there are events that the key may see. */
export async function countReturning(dataset: Dataset, asked: Asked, periods: Periods): Promise<Returning> {
  const { startMs = Number.NEGATIVE_INFINITY } = asked.range;
  const wanted = kindsOf(dataset, asked.action);
  const known = new Uint8Array(dataset.counts.users);
  const seenIn = new Int32Array(dataset.counts.users);
  const newcomers: number[] = [];
  const returning: number[] = [];
  let period = -1;
  const enter = (ms: number) => {
    period = periods.indexOf(ms);
    for (const counts of [newcomers, returning]) while (counts.length <= period) counts.push(0);
  };
  enterStart(asked, enter);
  const sinceEver = { ...asked, range: { endMs: asked.range.endMs } };
  await scanEvents(dataset, sinceEver, ({ count, kind, actor, timestampMs }) => {
    for (let row = 0; row < count; row++) {
      if (wanted[kind[row]!] === 0) continue;
      const person = actor[row]!;
      if (timestampMs[row]! >= startMs) {
        if (timestampMs[row]! >= periods.endMs) enter(timestampMs[row]!);
        if (seenIn[person] === period + 1) continue;
        seenIn[person] = period + 1;
        (known[person] === 1 ? returning : newcomers)[period]! += 1;
      }
      known[person] = 1;
    }
  });
  enterEnd(asked, enter);
  return { startsMs: periods.startsMs, endMs: periods.endMs, newcomers, returning };
}

/** Events by hour of the week, from Monday, 0 to 1 o'clock on. */
export async function countHoursOfWeek(dataset: Dataset, asked: Asked, zone: string): Promise<Float64Array> {
  const wanted = kindsOf(dataset, asked.action);
  const map = new HeatMap(zone);
  await scanEvents(dataset, asked, ({ count, kind, timestampMs }) => {
    for (let row = 0; row < count; row++) if (wanted[kind[row]!] === 1) map.add(timestampMs[row]!);
  });
  return map.counts;
}
