/** The pins of a board with the most events. */
import type { Dataset } from '../dataset/dataset.ts';
import { lookAt, topOf } from './ranking.ts';
import { type Asked, kindsOf, scanEvents } from './scan.ts';

export interface RankedPin {
  readonly pin: number;
  /** Index of the owner, according to the latest event of the pin. */
  readonly owner: number;
  readonly events: number;
  readonly people: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

export interface RankedPins {
  /** At most `most`, most events first; pins with equal counts in the order of their indices. */
  readonly top: readonly RankedPin[];
  /** Number of all pins with events. */
  readonly pins: number;
}

export async function rankPins(dataset: Dataset, asked: Asked, most: number): Promise<RankedPins> {
  const size = dataset.counts.pins;
  const wanted = kindsOf(dataset, asked.action);
  const events = new Float64Array(size);
  const owners = new Int32Array(size);
  const firstMs = new Float64Array(size);
  let pins = 0;
  await scanEvents(dataset, asked, ({ count, kind, owner, pin, timestampMs }) => {
    for (let row = 0; row < count; row++) {
      const index = pin[row]!;
      if (wanted[kind[row]!] === 0 || index < 0) continue;
      if (events[index] === 0) {
        firstMs[index] = timestampMs[row]!;
        pins += 1;
      }
      events[index]! += 1;
      owners[index] = owner[row]!;
    }
  });
  const top = await topOf(events, most);
  const looked = await lookAt(dataset, asked, { by: 'pin', indices: top, events, other: 'actor' });
  const ranked = top.map((pin, place) => {
    const { others: people, lastMs } = looked[place]!;
    return { pin, owner: owners[pin]!, events: events[pin]!, people, firstMs: firstMs[pin]!, lastMs };
  });
  return { top: ranked, pins };
}
