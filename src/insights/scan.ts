/** Reads the events that the insights count. */
import type { Dataset } from '../dataset/dataset.ts';
import type { EventBatch, EventQuery, TimeRange } from '../dataset/query.ts';
import { streamSelection } from '../dataset/timeline.ts';
import type { Scope } from '../domain/scope.ts';
import { slice } from '../system/time-slice.ts';

/** Selects the events that count. An absent field does not restrict them. */
export interface Asked {
  readonly scope: Scope;
  readonly range: TimeRange;
  /** Indices; the user is the actor. */
  readonly board?: number | undefined;
  readonly user?: number | undefined;
  readonly action?: string | undefined;
}

/**
 * Passes all selected events to `see`, oldest first, and yields to the event loop between batches.
 * A batch is valid until the next one. It includes events of other actions; `kindsOf` says which to
 * count.
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

/** The query for exactly the selected events, including the action. */
export function queryOf(dataset: Dataset, { scope, range, board, user, action }: Asked): EventQuery {
  const wanted = kindsOf(dataset, action);
  const kinds = action === undefined ? undefined : [...wanted.keys()].filter((kind) => wanted[kind] === 1);
  return {
    ...{ scope, range, kinds },
    ...(board !== undefined && { board }),
    ...(user !== undefined && { actor: user }),
  };
}

/** By index of a kind: 1 if events of that kind count, otherwise 0. */
export function kindsOf({ kinds }: Pick<Dataset, 'kinds'>, action: string | undefined): Uint8Array {
  return Uint8Array.from(kinds, (kind) => (action === undefined || kind.action === action ? 1 : 0));
}
