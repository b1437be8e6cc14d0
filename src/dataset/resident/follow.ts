/**
 * A version in memory made from an earlier one that is there already and the events that are new since (decision 47).
 * The earlier one stays as it is, for the answers that are under way; what both have in common, and can, they share.
 */
import { inSlices } from '../../time-slice.ts';
import type { Dataset } from '../dataset.ts';
import { type EventRows, makeEventRows, ROW_WORDS, setEventRows, timestampOf } from '../event-rows.ts';
import type { EventBatch } from '../query.ts';
import { type Holdings, ResidentDataset } from './dataset.ts';
import { moreTally } from './events.ts';
import { readRegisters } from './load.ts';
import { firstPlace, type Insertion, lengthAfter, SEARCHES_AT_ONCE, spliceColumn } from './splice.ts';

/** As `loadDataset`, to the same dataset. `added`: the events that came later, in the order of decision 4. */
export async function followDataset(
  before: ResidentDataset,
  stored: Dataset,
  added: EventBatch,
  onClose: () => void,
): Promise<ResidentDataset> {
  const { timeline, tally } = before.held;
  const { counts, kinds, lastSequence } = stored;
  const sizes = { ...counts, kinds: kinds.length };
  const registers = await readRegisters(stored);
  const { visibility } = registers;
  const change = { length: timeline.events.count, before: await placesOf(timeline.events, added) };
  const events = await eventsAfter(timeline.events, added, change);
  const holdings: Holdings = {
    ...registers,
    timeline: await timeline.with(events, added, change, counts, visibility, lastSequence),
    sizes,
    tally: await moreTally(tally, added, sizes),
  };
  return new ResidentDataset(stored, holdings, onClose);
}

/** Where new events go: behind those of the same instant, since their sequences are larger than all before. */
async function placesOf(events: EventRows, { count, timestampMs }: EventBatch): Promise<Int32Array> {
  const places = new Int32Array(count);
  const find = (from: number, to: number) => {
    for (let row = from; row < to; row++) {
      const isLater = (place: number) => timestampOf(events, place) > timestampMs[row]!;
      places[row] = firstPlace(places[row - 1] ?? 0, events.count, isLater);
    }
  };
  await inSlices(0, count, find, SEARCHES_AT_ONCE);
  return places;
}

async function eventsAfter(events: EventRows, batch: EventBatch, change: Insertion): Promise<EventRows> {
  const added = makeEventRows(batch.count);
  setEventRows(added, batch, 0);
  const after = makeEventRows(lengthAfter(change));
  await spliceColumn(events.words, added.words, change, after.words, ROW_WORDS);
  return after;
}
