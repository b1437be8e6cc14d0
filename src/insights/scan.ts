/** Reads the events that the insights count. */
import type { Dataset } from '../dataset/dataset.ts';
import { type EventView, viewOfBatch } from '../dataset/event-rows.ts';
import type { EventBatch, EventQuery, TimeRange } from '../dataset/query.ts';
import type { Selection } from '../dataset/selection.ts';
import { streamSelection, streamViews } from '../dataset/timeline.ts';
import type { Scope } from '../domain/scope.ts';
import { slice } from '../system/time-slice.ts';
import type { CountThreads } from './count-threads.ts';
import type { Counter } from './counter.ts';

/** Selects the events that count. An absent field does not restrict them. */
export interface Asked {
  readonly scope: Scope;
  readonly range: TimeRange;
  /** Indices; the user is the actor. */
  readonly board?: number | undefined;
  readonly user?: number | undefined;
  readonly action?: string | undefined;
  /** Count large selections of events in memory; absent: this thread counts alone. */
  readonly threads?: CountThreads | undefined;
}

/**
 * Counts all selected events and returns the parts of the count, in the order of the events. The
 * events include those of other actions; `kindsOf` says which to count.
 */
export async function countSelected<Input, Part>(
  dataset: Dataset,
  asked: Asked,
  counter: Counter<Input, Part>,
  input: Input,
): Promise<Part[]> {
  const { timeline, version } = dataset;
  const query = queryOfAll(asked);
  const selection = timeline?.select(query);
  if (timeline !== undefined && selection !== undefined && asked.threads?.areFasterFor(selection) === true) {
    return await asked.threads.count({ version, events: timeline.events, selection }, counter, input);
  }
  const counting = counter.start(input);
  await seeAll(viewsOf(dataset, query, selection), (view) => counting.see(view));
  return [counting.end()];
}

/** `selection` is that of the query; absent if the events are not in memory. */
async function* viewsOf(
  dataset: Dataset,
  query: EventQuery,
  selection: Selection | undefined,
): AsyncGenerator<EventView> {
  const { timeline } = dataset;
  if (timeline !== undefined && selection !== undefined) yield* streamViews(timeline.events, selection);
  else for await (const batch of dataset.events(query)) yield viewOfBatch(batch);
}

/**
 * Passes all selected events to `see`, oldest first, and yields to the event loop between batches.
 * A batch is valid until the next one. It includes events of other actions; `kindsOf` says which to
 * count.
 */
export async function scanEvents(
  dataset: Dataset,
  asked: Omit<Asked, 'action'>,
  see: (batch: EventBatch) => Promise<void> | void,
): Promise<void> {
  const { timeline } = dataset;
  const query = queryOfAll(asked);
  const batches =
    timeline === undefined
      ? dataset.events(query)
      : streamSelection(timeline.events, timeline.select(query), { reused: true });
  await seeAll(batches, see);
}

async function seeAll<Seen>(
  seen: AsyncIterable<Seen>,
  see: (one: Seen) => Promise<void> | void,
): Promise<void> {
  for await (const one of seen) {
    await see(one);
    if (slice.isOver()) await slice.pass();
  }
}

/** The query for exactly the selected events, including the action. */
export function queryOf(dataset: Dataset, asked: Asked): EventQuery {
  const { action } = asked;
  const wanted = kindsOf(dataset, action);
  const kinds = action === undefined ? undefined : [...wanted.keys()].filter((kind) => wanted[kind] === 1);
  return { ...queryOfAll(asked), kinds };
}

/** The query for the selected events of all actions. */
function queryOfAll({ scope, range, board, user }: Omit<Asked, 'action'>): EventQuery {
  return {
    ...{ scope, range },
    ...(board !== undefined && { board }),
    ...(user !== undefined && { actor: user }),
  };
}

/** By index of a kind: 1 if events of that kind count, otherwise 0. */
export function kindsOf({ kinds }: Pick<Dataset, 'kinds'>, action: string | undefined): Uint8Array {
  return Uint8Array.from(kinds, (kind) => (action === undefined || kind.action === action ? 1 : 0));
}
