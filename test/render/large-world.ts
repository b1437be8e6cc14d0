/** 9,000 events in memory, enough for large responses. */
import assert from 'node:assert/strict';
import { makeEventRows, setEventRows } from '../../src/dataset/event-rows.ts';
import type { EventQuery } from '../../src/dataset/query.ts';
import type { Selection } from '../../src/dataset/selection.ts';
import type { Timeline } from '../../src/dataset/timeline.ts';
import { FULL_SCOPE } from '../../src/domain/scope.ts';
import { PlainDataset } from './plain-dataset.ts';

export const EVENTS = 9_000;
/** Time of the first event; one event follows per minute. */
export const START_MS = Date.UTC(2018, 2, 12, 17);
export const EVERYTHING: EventQuery = { scope: FULL_SCOPE, range: {} };
export const ONE_BOARD: EventQuery = { scope: { boards: [1n], users: 'of-boards' }, range: {} };

/**
 * A plain dataset whose events are also in memory. A scope that lists boards sees the events of
 * board 0 only, whatever ids it lists.
 */
export class ResidentPlainDataset extends PlainDataset {
  timeline: Timeline | undefined;

  async load(): Promise<this> {
    const events = makeEventRows(EVENTS);
    for await (const batch of this.events(EVERYTHING)) {
      assert.equal(batch.count, EVENTS);
      setEventRows(events, batch, 0);
    }
    this.timeline = { events, select: selectRows };
    return this;
  }

  override select(query: EventQuery) {
    return super
      .select({ ...query, limit: undefined })
      .filter(({ board }) => query.scope.boards === 'all' || board === 0)
      .slice(0, query.limit);
  }
}

function selectRows({ scope, range, pinsOnly, kinds }: Omit<EventQuery, 'limit'>): Selection {
  const rowAt = (ms: number) => Math.min(EVENTS, Math.max(0, Math.ceil((ms - START_MS) / 60_000)));
  const boards = scope.boards === 'all' ? undefined : Uint8Array.of(1, 0, 0);
  return {
    from: range.startMs === undefined ? 0 : rowAt(range.startMs),
    to: range.endMs === undefined ? EVENTS : rowAt(range.endMs),
    boards,
    pinsOnly,
    kinds: kinds && Uint8Array.from({ length: 8 }, (_, kind) => Number(kinds.includes(kind))),
  };
}
