/** The insights, counted from exported events with plain loops and Temporal. */
import { Temporal } from 'temporal-polyfill';

/** An exported event with ids as strings. */
export interface Exported {
  readonly type: string;
  readonly action: string;
  readonly actor: { readonly id: string; readonly role: string; readonly class_role: string };
  readonly owner: { readonly id: string };
  readonly board: { readonly id: string };
  readonly pin?: { readonly id: string };
  readonly organization: { readonly id: string };
  readonly timestamp: string;
}

/** Parses JSON; ids become strings, so that they keep all digits. */
export function parseExact(text: string): unknown {
  return JSON.parse(text.replaceAll(/"(\w*id|actor|owner)":(-?\d+)/g, '"$1":"$2"'));
}

export function overviewOf(events: readonly Exported[]) {
  const actions = countBy(events, ({ action }) => action);
  return {
    events: events.length,
    people: new Set(events.map(({ actor }) => actor.id)).size,
    boards: new Set(events.map(({ board }) => board.id)).size,
    pins: new Set(events.flatMap(({ pin }) => (pin ? [pin.id] : []))).size,
    actions: [...actions]
      .map(([action, count]) => ({ action, events: count }))
      .sort((one, other) => other.events - one.events || (one.action < other.action ? -1 : 1)),
    first: events[0]?.timestamp ?? null,
    last: events.at(-1)?.timestamp ?? null,
  };
}

export type Interval = 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year';

export function startOf(interval: Interval, zone: string, timestamp: string): Temporal.ZonedDateTime {
  const at = Temporal.Instant.from(timestamp).toZonedDateTimeISO(zone);
  switch (interval) {
    case 'hour':
      return at.round({ smallestUnit: 'hour', roundingMode: 'floor' });
    case 'day':
      return at.startOfDay();
    case 'week':
      return at.subtract({ days: at.dayOfWeek - 1 }).startOfDay();
    case 'month':
      return at.with({ day: 1 }).startOfDay();
    case 'quarter':
      return at.with({ month: [1, 1, 1, 4, 4, 4, 7, 7, 7, 10, 10, 10][at.month - 1]!, day: 1 }).startOfDay();
    case 'year':
      return at.with({ month: 1, day: 1 }).startOfDay();
  }
}

function nextOf(interval: Interval, start: Temporal.ZonedDateTime): Temporal.ZonedDateTime {
  if (interval === 'hour') return start.add({ hours: 1 });
  const days = { day: 1, week: 7, month: 32, quarter: 93, year: 367 }[interval];
  const next = start.add({ days }).startOfDay();
  return interval === 'day' || interval === 'week' ? next : next.with({ day: 1 }).startOfDay();
}

/**
 * The starts of the periods from that of `first` to that of `last`, and the end of the last one.
 */
export function periodsBetween(interval: Interval, zone: string, first: string, last: string) {
  const starts: string[] = [];
  let at = startOf(interval, zone, first);
  while (Temporal.Instant.compare(at.toInstant(), Temporal.Instant.from(last)) <= 0) {
    starts.push(format(at));
    at = nextOf(interval, at);
  }
  return { starts, end: format(at) };
}

function format(at: Temporal.ZonedDateTime): string {
  return new Date(at.epochMilliseconds).toISOString().replace('Z', '+00:00');
}

/** The index of the period of each event. */
export function placesOf(starts: readonly string[], events: readonly Exported[]): number[] {
  return events.map(({ timestamp }) => starts.findLastIndex((start) => start <= timestamp));
}

export function distinctPeople(starts: readonly string[], events: readonly Exported[]): number[] {
  const places = placesOf(starts, events);
  return starts.map((_, period) => {
    const inside = events.filter((_event, row) => places[row] === period);
    return new Set(inside.map(({ actor }) => actor.id)).size;
  });
}

/** New and returning users per period; `before` has the events before the range. */
export function returningOf(
  starts: readonly string[],
  before: readonly Exported[],
  events: readonly Exported[],
) {
  const places = placesOf(starts, events);
  const people = new Set(events.map(({ actor }) => actor.id));
  const newcomers = starts.map(() => 0);
  const returning = starts.map(() => 0);
  for (const id of people) {
    const own = new Set(places.filter((_, row) => events[row]?.actor.id === id));
    const isKnown = before.some(({ actor }) => actor.id === id);
    for (const [nth, period] of [...own].entries()) {
      (nth === 0 && !isKnown ? newcomers : returning)[period]! += 1;
    }
  }
  return { newcomers, returning };
}

export function hoursOf(zone: string, events: readonly Exported[]): number[][] {
  const hours = Array.from({ length: 7 }, () => new Array<number>(24).fill(0));
  for (const { timestamp } of events) {
    const at = Temporal.Instant.from(timestamp).toZonedDateTimeISO(zone);
    hours[at.dayOfWeek - 1]![at.hour]! += 1;
  }
  return hours;
}

/** Boards or actors by id: events, distinct users or boards, the last event. */
export function rankingOf(events: readonly Exported[], by: 'board' | 'actor') {
  const ranking = new Map<string, { events: number; others: Set<string>; last: string }>();
  for (const event of events) {
    const entry = ranking.get(event[by].id) ?? { events: 0, others: new Set(), last: '' };
    entry.events += 1;
    entry.others.add(event[by === 'board' ? 'actor' : 'board'].id);
    entry.last = event.timestamp;
    ranking.set(event[by].id, entry);
  }
  return [...ranking].map(([id, { events: count, others, last }]) => ({
    ...{ id, events: count, others: others.size, last },
  }));
}

/** Pins by id: latest owner, events, distinct actors, the first and the last event. */
export function pinsOf(events: readonly Exported[]) {
  const byPin = Map.groupBy(events, ({ pin }) => pin?.id);
  return [...byPin].flatMap(([id, own]) =>
    id === undefined
      ? []
      : [
          {
            ...{ id, owner: own.at(-1)!.owner.id, events: own.length },
            people: new Set(own.map(({ actor }) => actor.id)).size,
            ...{ first: own[0]!.timestamp, last: own.at(-1)!.timestamp },
          },
        ],
  );
}

export function interactionsOf(events: readonly Exported[]) {
  const between = events.filter(({ actor, owner }) => actor.id !== owner.id);
  const pairs = countBy(between, ({ actor, owner }) => `${actor.id} ${owner.id}`);
  return { pairs, events: between.length, own: events.length - between.length };
}

export function countBy<T>(items: readonly T[], name: (item: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(name(item), (counts.get(name(item)) ?? 0) + 1);
  return counts;
}
