/** The health of all workers together, for the admin address, which is in the primary. */
import type { Worker } from 'node:cluster';
import { ALIVE, bad, good, type Health, type Operation } from './health.ts';

/** Longer than a worker waits for its store. */
const WORKER_ANSWER_MS = 3_000;

interface HealthWantedMessage {
  readonly type: 'health-wanted';
  readonly round: number;
}

interface HealthToldMessage {
  readonly type: 'health-told';
  readonly round: number;
  readonly health: Health;
}

/** `gone`: the worker has ended. `silent`: it has not responded in time. */
export type WorkerHealth = Health | 'gone' | 'silent';

let rounds = 0;

/** For a worker: responds to the primary. */
export function joinHealth(readiness: () => Promise<Health>): void {
  process.on('message', async ({ type, round }: HealthWantedMessage) => {
    if (type !== 'health-wanted') return;
    const told: HealthToldMessage = { type: 'health-told', round, health: await readiness() };
    if (process.connected) process.send?.(told);
  });
}

async function askHealth(worker: Worker): Promise<WorkerHealth> {
  if (!worker.isConnected()) return 'gone';
  const { promise, resolve } = Promise.withResolvers<WorkerHealth>();
  const wanted: HealthWantedMessage = { type: 'health-wanted', round: ++rounds };
  const onMessage = ({ type, round, health }: HealthToldMessage) => {
    if (type === 'health-told' && round === wanted.round) resolve(health);
  };
  const onExit = () => resolve('gone');
  worker.on('message', onMessage).on('exit', onExit);
  const timer = setTimeout(resolve, WORKER_ANSWER_MS, 'silent');
  try {
    worker.send(wanted);
    return await promise;
  } finally {
    clearTimeout(timer);
    worker.off('message', onMessage).off('exit', onExit);
  }
}

/** What the primary tells of all workers. */
export function operationOfAll(
  workers: { listening(): readonly Worker[]; readonly isStopping: boolean },
  configured: number,
  metrics: Operation['metrics'],
): Operation {
  const askAll = () => Promise.all(workers.listening().map(askHealth));
  return {
    liveness: async () => livenessOfAll(await askAll()),
    readiness: async () =>
      workers.isStopping ? bad('stopping') : readinessOfAll(await askAll(), configured),
    metrics,
  };
}

/** A worker that has ended is being replaced, but one that does not respond needs a restart. */
function livenessOfAll(told: readonly WorkerHealth[]): Health {
  return told.includes('silent') ? bad('a worker does not respond') : ALIVE;
}

/**
 * The readiness of all workers: the worst state of a worker. While one is being replaced the others
 * take all connections, so the server is degraded but ready.
 */
export function readinessOfAll(told: readonly WorkerHealth[], configured: number): Health {
  if (told.includes('silent')) return bad('a worker does not respond');
  const present = told.filter((health) => typeof health === 'object');
  const workers = { serving: present.length, configured };
  if (present.length === 0) return bad('no worker is running', { workers });
  const worst =
    present.find(({ isGood }) => !isGood) ??
    present.find(({ body }) => body.status !== 'ready') ??
    (present.length < configured ? good('degraded') : good('ready'));
  return { ...worst, body: { ...worst.body, workers } };
}
