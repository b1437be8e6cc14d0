/**
 * The figures of all workers together, by way of their primary: who is asked for `/metrics` asks it, and it asks all.
 * prom-client's own way starts at the primary, and waits for workers that cannot answer yet.
 */
import cluster, { type Worker } from 'node:cluster';

/** What `registry.getMetricsAsJSON()` gives. */
type Figures = readonly object[];

type FiguresMessage =
  // A worker to the primary, the primary to every worker, every worker back, and the primary to the first one.
  | { readonly type: 'figures-wanted'; readonly round: string }
  | { readonly type: 'figures-asked'; readonly round: string }
  | { readonly type: 'figures-told'; readonly round: string; readonly figures: Figures }
  | { readonly type: 'figures-gathered'; readonly round: string; readonly figures: readonly Figures[] };

/** A worker that has not told its figures by then is left out. */
const TELL_TIMEOUT_MS = 2_000;

/** In the primary: passes on what the workers ask each other. `workers` are those that serve at the moment. */
export function relayFigures(workers: () => Iterable<Worker>): void {
  const rounds = new Map<string, (teller: Worker, figures: Figures) => void>();
  cluster.on('message', (sender, message: FiguresMessage) => {
    if (message.type === 'figures-told') rounds.get(message.round)?.(sender, message.figures);
    if (message.type === 'figures-wanted') gather(sender, message.round);
  });

  function gather(asker: Worker, round: string): void {
    const asked = new Set([asker, ...workers()].filter((worker) => worker.isConnected()));
    const figures: Figures[] = [];
    const end = () => {
      clearTimeout(late);
      rounds.delete(round);
      if (asker.isConnected()) asker.send({ type: 'figures-gathered', round, figures });
    };
    const late = setTimeout(end, TELL_TIMEOUT_MS);
    rounds.set(round, (teller, told) => {
      figures.push(told);
      asked.delete(teller);
      if (asked.size === 0) end();
    });
    for (const worker of asked) worker.send({ type: 'figures-asked', round });
  }
}

export interface FellowFigures {
  /** Those of every worker that serves, this one included. */
  gather(): Promise<readonly Figures[]>;
}

/** In a worker: answers for its own figures from now on. */
export function joinFigures(own: () => Promise<Figures>): FellowFigures {
  const waiting = new Map<string, (figures: readonly Figures[]) => void>();
  let rounds = 0;
  process.on('message', async (message: FiguresMessage) => {
    if (message.type === 'figures-asked') {
      process.send?.({ type: 'figures-told', round: message.round, figures: await own() });
    } else if (message.type === 'figures-gathered') {
      waiting.get(message.round)?.(message.figures);
      waiting.delete(message.round);
    }
  });
  return {
    gather: () =>
      new Promise((resolve) => {
        rounds += 1;
        const round = `${process.pid}/${rounds}`;
        waiting.set(round, resolve);
        process.send?.({ type: 'figures-wanted', round });
      }),
  };
}
