/** The code of a thread that counts events. */
import { parentPort } from 'node:worker_threads';
import { viewSelection } from '../dataset/timeline.ts';
import { AppError } from '../domain/app-error.ts';
import { collectGarbage } from '../system/memory-reclaimer.ts';
import { failureOf } from '../system/worker-thread.ts';
import type { CountOrder, CountReply } from './count-job.ts';
import type { Counter } from './counter.ts';
import { HEAT_MAP } from './heat-map.ts';
import { OVERVIEW } from './overview.ts';
import { PERIODS } from './period-counter.ts';
import { LATEST, OCCURRENCES, VALUES } from './ranking.ts';

/** The types of inputs and parts are those of the counter that the order names. */
const COUNTERS = new Map(
  [HEAT_MAP, LATEST, OCCURRENCES, OVERVIEW, PERIODS, VALUES].map((counter) => [
    counter.name,
    counter as Counter<unknown, unknown>,
  ]),
);

let version: string | undefined;

parentPort?.on('message', (order: CountOrder) => {
  // The runtime does not count shared memory: without a collection it would keep closed versions.
  if (version !== undefined && version !== order.version) collectGarbage();
  version = order.version;
  void reply(order);
});

async function reply(order: CountOrder): Promise<void> {
  const { job } = order;
  try {
    const part = await count(order);
    parentPort?.postMessage({ type: 'counted', job, part } satisfies CountReply, [
      ...new Set(buffersOf(part)),
    ]);
  } catch (error) {
    if (!(error instanceof AppError)) parentPort?.postMessage(failureOf(job, error));
    else {
      const { code, message } = error;
      parentPort?.postMessage({ type: 'refused', job, code, message } satisfies CountReply);
    }
  }
}

async function count({ counter, input, events, selection }: CountOrder): Promise<unknown> {
  const counting = COUNTERS.get(counter)?.start(input);
  if (counting === undefined) throw new Error(`There is no counter ${counter}.`);
  for (const view of viewSelection(events, selection)) await counting.see(view);
  return counting.end();
}

/** The memory of the typed arrays of a part, which is moved to the other thread, not copied. */
function buffersOf(part: unknown): ArrayBuffer[] {
  if (ArrayBuffer.isView(part)) return part.buffer instanceof ArrayBuffer ? [part.buffer] : [];
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return [];
  return Object.values(part).flatMap(buffersOf);
}
