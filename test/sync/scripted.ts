/** A source of a sync whose changes are given, and the rows that a copy of them has. */
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { formatInstant } from '../../src/domain/instant.ts';
import type { SyncSource } from '../../src/sync/source.ts';
import { sync } from '../../src/sync/sync.ts';
import type { LockOptions } from '../../src/sync/targets/bucket-lock.ts';
import { openTarget } from '../../src/sync/targets/open-target.ts';
import type { CopyPlace, CopyRow } from './copies.ts';

export interface ScriptedEvent {
  readonly id: string;
  readonly actor: number;
  readonly instantMs: number;
  readonly title: string;
}

/** In the order in which a sync applies them. */
export interface ScriptedBatch {
  readonly startsAnew: boolean;
  readonly forgotten: readonly number[];
  readonly deleted: readonly string[];
  readonly events: readonly ScriptedEvent[];
}

/** Of a server that sends other things than ours. */
type OddBatch = Omit<ScriptedBatch, 'events'> & { readonly events: readonly OddEvent[] };
type OddEvent = Omit<ScriptedEvent, 'actor'> & Partial<ScriptedEvent>;

export const NO_CHANGES: ScriptedBatch = { startsAnew: false, forgotten: [], deleted: [], events: [] };

/** Of copies in buckets: short, because killed runs do not release their locks. */
export const LOCK_TIMES = { renewMs: 100, silenceMs: 800 };

/** One run with these batches, which are one change set. */
export async function runWith(
  place: CopyPlace,
  batches: readonly OddBatch[],
  token: string,
  lock: LockOptions = LOCK_TIMES,
) {
  const target = await openTarget(place.address, { schema: 'community', lock });
  try {
    return await sync(scripted(batches, token), target);
  } finally {
    await target.close();
  }
}

function scripted(batches: readonly OddBatch[], token: string): SyncSource {
  return {
    base: 'https://data.example.org/a',
    versions: new Set(),
    async *changes(known) {
      if (known === token) return;
      for (const [at, { startsAnew, forgotten, deleted, events }] of batches.entries()) {
        yield {
          startsAnew: startsAnew || (known === undefined && at === 0),
          forgotten: forgotten.map(String),
          deleted: [...deleted],
          events: events.map(elementOf) as never[],
          token: at === batches.length - 1 ? token : undefined,
        };
      }
    },
    list: async () => undefined,
    zone: async (name) => ({ name, offsets: [{ from: 0, offset: 0 }] }),
    settle: async () => undefined,
  };
}

function elementOf({ id, actor, instantMs, title }: OddEvent) {
  return {
    ...{ sync_id: id, type: 'board', action: 'visited', timestamp: formatInstant(instantMs) },
    ...{ actor: actor === undefined ? undefined : { id: String(actor) }, board: { id: '7', title } },
  };
}

/** A plain model of a copy. */
export class ScriptedCopy {
  #events = new Map<string, ScriptedEvent>();

  apply({ startsAnew, forgotten, deleted, events }: ScriptedBatch): void {
    if (startsAnew) this.#events.clear();
    for (const [id, { actor }] of [...this.#events]) {
      if (forgotten.includes(actor) || deleted.includes(id)) this.#events.delete(id);
    }
    for (const event of events) this.#events.set(event.id, event);
  }

  get events(): readonly ScriptedEvent[] {
    return [...this.#events.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
  }
}

/** The events in the rows of a copy. */
export function eventsIn(rows: readonly CopyRow[]): readonly ScriptedEvent[] {
  return rows
    .map((row) => ({
      ...{ id: String(row['sync_id']), actor: Number(row['actor_id']) },
      ...{ instantMs: Number(row['timestamp']), title: String(row['board_title']) },
    }))
    .sort((one, other) => (one.id < other.id ? -1 : 1));
}

type Events = readonly ScriptedEvent[];

/** Each month is as in one of the two states. */
export function assertMonths(found: Events, before: Events, after: Events): void {
  const monthOf = ({ instantMs }: ScriptedEvent) => new Date(instantMs).toISOString().slice(0, 7);
  const [of, ofBefore, ofAfter] = [found, before, after].map((events) => Map.groupBy(events, monthOf));
  for (const month of new Set([...before, ...after, ...found].map(monthOf))) {
    const [events, ...states] = [of, ofBefore, ofAfter].map((months) => months?.get(month));
    assert.ok(
      states.some((state) => isDeepStrictEqual(state, events)),
      month,
    );
  }
}
