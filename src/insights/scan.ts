/** Reading the events that a figure is made of. */
import type { Dataset } from '../dataset/dataset.ts';
import type { EventBatch, EventQuery, TimeRange } from '../dataset/query.ts';
import { streamSelection } from '../dataset/timeline.ts';
import type { Scope } from '../domain/scope.ts';
import { slice } from '../system/time-slice.ts';

/** Which events count. What is absent restricts nothing. */
export interface Asked {
  readonly scope: Scope;
  readonly range: TimeRange;
  /** By index; the user is who acts. */
  readonly board?: number | undefined;
  readonly user?: number | undefined;
  readonly action?: string | undefined;
}

/**
 * Passes all events asked for to `see`, oldest first, in slices of time. A batch is valid until the
 * next one. It includes events of other actions; `kindsOf` tells which to count.
 */
export async function scanEvents(
  dataset: Dataset,
  { scope, range, board, user }: Omit<Asked, 'action'>,
  see: (batch: EventBatch) => Promise<void> | void,
): Promise<void> {
  const query = {
    scope,
    range,
    ...(board !== undefined && { board }),
    ...(user !== undefined && { actor: user }),
  };
  const { timeline } = dataset;
  const batches =
    timeline === undefined
      ? dataset.events(query)
      : streamSelection(timeline.events, timeline.select(query), { reused: true });
  for await (const batch of batches) {
    await see(batch);
    if (slice.isOver()) await slice.pass();
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
