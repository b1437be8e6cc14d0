/**
 * Counts over events that can be taken in parts: each part counts consecutive events, on any
 * thread, and the parts are combined in their order.
 */
import type { EventView } from '../dataset/event-rows.ts';
import { inSlices } from '../system/time-slice.ts';

/** `Input` and `Part` can be sent to a different thread: plain objects, arrays, typed arrays. */
export interface Counter<Input, Part> {
  /** Unique: a thread finds the counter by its name. */
  readonly name: string;
  start(input: Input): RunningCount<Part>;
}

export interface RunningCount<Part> {
  /** Counts the events of a view, which come after those of the view before. */
  see(view: EventView): Promise<void> | void;
  end(): Part;
}

/** By index, the sum of the counts, all of the same length; kept in the first. */
export async function sumOf([first, ...others]: readonly Float64Array[]): Promise<Float64Array> {
  const sum = first!;
  for (const counts of others) {
    await inSlices(0, sum.length, (from, to) => {
      for (let index = from; index < to; index++) sum[index]! += counts[index]!;
    });
  }
  return sum;
}
