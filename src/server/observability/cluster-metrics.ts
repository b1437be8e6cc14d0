/**
 * The metrics of all workers together. `ClusterRegistry` adds them up only in the primary, so the
 * worker that receives a request for `/metrics` gets the text from there.
 */
import cluster from 'node:cluster';
import { ClusterRegistry, type Registry } from '@prometheus-io/client';

interface WantedMessage {
  readonly type: 'metrics-wanted';
  readonly round: number;
}

interface GatheredMessage {
  readonly type: 'metrics-gathered';
  readonly round: number;
  /** Absent when a worker has not responded. */
  readonly text: string | undefined;
}

/**
 * For the primary: sends the text to workers that request it, and returns a function that gives it.
 */
export function gatherMetrics(): () => Promise<string | undefined> {
  const all = new ClusterRegistry();
  const gather = () => all.clusterMetrics().catch(() => undefined);
  cluster.on('message', async (worker, { type, round }: WantedMessage) => {
    if (type !== 'metrics-wanted') return;
    const gathered: GatheredMessage = { type: 'metrics-gathered', round, text: await gather() };
    if (worker.isConnected()) worker.send(gathered);
  });
  return gather;
}

/**
 * For a worker, whose metrics are included from now on: returns a function that gives the metrics
 * of all workers.
 */
export function joinMetrics(own: Registry): () => Promise<string | undefined> {
  ClusterRegistry.setRegistries(own);
  new ClusterRegistry();
  const waiting = new Map<number, (text: string | undefined) => void>();
  let rounds = 0;
  process.on('message', ({ type, round, text }: GatheredMessage) => {
    if (type !== 'metrics-gathered') return;
    waiting.get(round)?.(text);
    waiting.delete(round);
  });
  return () =>
    new Promise((resolve) => {
      rounds += 1;
      waiting.set(rounds, resolve);
      const wanted: WantedMessage = { type: 'metrics-wanted', round: rounds };
      process.send?.(wanted);
    });
}
