/** The pins of a board with the most events. */
import type { Dataset } from '../dataset/dataset.ts';
import { topOf } from './ranking.ts';
import { type Asked, kindsOf, scanEvents } from './scan.ts';

export interface RankedPin {
  readonly pin: number;
  /** Index of the person whose it is, as its latest event says. */
  readonly owner: number;
  readonly events: number;
  readonly people: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

export interface RankedPins {
  /** At most `most`; of equal ones the lower index first. */
  readonly top: readonly RankedPin[];
  /** All pins with events. */
  readonly pins: number;
}

export async function rankPins(dataset: Dataset, asked: Asked, most: number): Promise<RankedPins> {
  const size = dataset.counts.pins;
  const wanted = kindsOf(dataset, asked.action);
  const events = new Float64Array(size);
  const owners = new Int32Array(size);
  const firstMs = new Float64Array(size).fill(Number.POSITIVE_INFINITY);
  const lastMs = new Float64Array(size);
  const people = new Map<number, Set<number>>();
  await scanEvents(dataset, asked, ({ count, kind, actor, owner, pin, timestampMs }) => {
    for (let row = 0; row < count; row++) {
      const index = pin[row]!;
      if (wanted[kind[row]!] === 0 || index < 0) continue;
      events[index]! += 1;
      owners[index] = owner[row]!;
      firstMs[index] = Math.min(firstMs[index]!, timestampMs[row]!);
      lastMs[index] = timestampMs[row]!;
      const seen = people.get(index);
      if (seen === undefined) people.set(index, new Set([actor[row]!]));
      else seen.add(actor[row]!);
    }
  });
  const ranked = topOf(events);
  const top = ranked.slice(0, most).map((pin) => ({
    ...{ pin, owner: owners[pin]!, events: events[pin]!, people: people.get(pin)?.size ?? 0 },
    ...{ firstMs: firstMs[pin]!, lastMs: lastMs[pin]! },
  }));
  return { top, pins: ranked.length };
}
