/** Reading the events that a figure is made of. */
import { setImmediate } from 'node:timers/promises';
import type { Dataset } from '../dataset/dataset.ts';
import type { EventBatch, EventQuery, TimeRange } from '../dataset/query.ts';
import type { Scope } from '../dataset/scope.ts';
import { readSelection } from '../dataset/timeline.ts';

/** Which events count. What is absent restricts nothing. */
export interface Asked {
  readonly scope: Scope;
  readonly range: TimeRange;
  /** By index; the user is who acts. */
  readonly board?: number | undefined;
  readonly user?: number | undefined;
  readonly action?: string | undefined;
}

/** After so many events others are served: some milliseconds of work. */
const EVENTS_AT_ONCE = 131_072;

/**
 * Shows all events asked for, oldest first. A batch stays as it is only until the next one; those of another action are
 * part of it, `counts` tells them apart.
 */
export async function scanEvents(
  dataset: Dataset,
  { scope, range, board, user }: Omit<Asked, 'action'>,
  see: (batch: EventBatch) => void,
): Promise<void> {
  const query = {
    scope,
    range,
    ...(board !== undefined && { board }),
    ...(user !== undefined && { actor: user }),
  };
  const { timeline } = dataset;
  if (timeline === undefined) {
    for await (const batch of dataset.events(query)) see(batch);
    return;
  }
  let events = 0;
  for (const batch of readSelection(timeline.events, timeline.select(query), { reused: true })) {
    see(batch);
    events += batch.count;
    if (events < EVENTS_AT_ONCE) continue;
    events = 0;
    await setImmediate();
  }
}

/** The question to the dataset for exactly the events asked for. */
export function queryOf(dataset: Dataset, { scope, range, board, user, action }: Asked): EventQuery {
  const wanted = kindsOf(dataset, action);
  const kinds = action === undefined ? undefined : [...wanted.keys()].filter((kind) => wanted[kind] === 1);
  return {
    ...{ scope, range, kinds },
    ...(board !== undefined && { board }),
    ...(user !== undefined && { actor: user }),
  };
}

/** By index of a kind: 1 where events of that kind count. */
export function kindsOf({ kinds }: Pick<Dataset, 'kinds'>, action: string | undefined): Uint8Array {
  return Uint8Array.from(kinds, (kind) => (action === undefined || kind.action === action ? 1 : 0));
}
