/** A plain dataset of few events with a timeline, as a dataset in memory has it. */
import { makeEventRows, setEventRows } from '../../src/dataset/event-rows.ts';
import type { EventQuery } from '../../src/dataset/query.ts';
import type { Timeline } from '../../src/dataset/timeline.ts';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { PlainDataset } from './plain-dataset.ts';

export class DatasetInMemory extends PlainDataset {
  timeline: Timeline | undefined;

  /** The timeline selects by range and kinds only. */
  async load(): Promise<this> {
    const events = makeEventRows(this.counts.events);
    let at = 0;
    for await (const batch of this.events({ scope: FULL_SCOPE, range: {} })) {
      setEventRows(events, batch, at);
      at += batch.count;
    }
    const rowsBefore = (ms: number) => this.select({ scope: FULL_SCOPE, range: { endMs: ms } }).length;
    this.timeline = {
      events,
      select: ({ range: { startMs, endMs }, kinds }: EventQuery) => ({
        from: startMs === undefined ? 0 : rowsBefore(startMs),
        to: endMs === undefined ? events.count : rowsBefore(endMs),
        kinds: kinds && Uint8Array.from({ length: 8 }, (_, kind) => Number(kinds.includes(kind))),
      }),
    };
    return this;
  }
}
