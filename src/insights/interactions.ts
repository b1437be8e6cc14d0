/** Who interacts with whom on a board: whose things others act on. */
import type { Dataset } from '../dataset/dataset.ts';
import { type Asked, kindsOf, scanEvents } from './scan.ts';

export interface Edge {
  /** Indices of who acts and of who owns what is acted on; never the same. */
  readonly actor: number;
  readonly owner: number;
  readonly events: number;
}

export interface Interactions {
  /** The pairs with the most events first, at most as many as asked for. */
  readonly edges: readonly Edge[];
  /** All pairs there are. */
  readonly pairs: number;
  /** Events between different people, and events of people with their own things. */
  readonly events: number;
  readonly own: number;
}

/** Both columns hold indices below 2^31, so a pair is a safe integer. */
const RADIX = 2 ** 22;

export async function countInteractions(dataset: Dataset, asked: Asked, most: number): Promise<Interactions> {
  const wanted = kindsOf(dataset, asked.action);
  const radix = Math.max(RADIX, dataset.counts.users);
  const counts = new Map<number, number>();
  let events = 0;
  let own = 0;
  await scanEvents(dataset, asked, ({ count, kind, actor, owner }) => {
    for (let row = 0; row < count; row++) {
      if (wanted[kind[row]!] === 0) continue;
      if (actor[row] === owner[row]) {
        own += 1;
        continue;
      }
      events += 1;
      const pair = actor[row]! * radix + owner[row]!;
      counts.set(pair, (counts.get(pair) ?? 0) + 1);
    }
  });
  const { places } = (await dataset.userOrder?.()) ?? {};
  // Pairs in the order of the users, by who acts first.
  const placeOf = (pair: number) =>
    places === undefined ? pair : places[Math.floor(pair / radix)]! * radix + places[pair % radix]!;
  const top = [...counts].sort(
    ([onePair, one], [otherPair, other]) => other - one || placeOf(onePair) - placeOf(otherPair),
  );
  const edges = top.slice(0, most).map(([pair, count]) => ({
    actor: Math.floor(pair / radix),
    owner: pair % radix,
    events: count,
  }));
  return { edges, pairs: counts.size, events, own };
}
