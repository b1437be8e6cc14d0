/** Interactions between users on a board: pairs of an actor and the owner of the object. */
import type { Dataset } from '../dataset/dataset.ts';
import type { UserOrder } from '../dataset/query.ts';
import { inSlices } from '../system/time-slice.ts';
import { type Asked, kindsOf, scanEvents } from './scan.ts';
import { Top } from './top.ts';

export interface Edge {
  /** Indices of the actor and of the owner; never the same. */
  readonly actor: number;
  readonly owner: number;
  readonly events: number;
}

export interface Interactions {
  /** The pairs with the most events first, at most `most`. */
  readonly edges: readonly Edge[];
  /** Number of all pairs. */
  readonly pairs: number;
  /** Events between different users, and events in which the actor is the owner. */
  readonly events: number;
  readonly own: number;
}

export async function countInteractions(dataset: Dataset, asked: Asked, most: number): Promise<Interactions> {
  const { offsets, events, own } = await countByActor(dataset, asked);
  const owners = await ownersByActor(dataset, asked, offsets, events);
  const order = await dataset.userOrder?.();
  return { ...(await countPairs({ offsets, owners, order }, dataset.counts.users, most)), events, own };
}

/** Counts events between different users by actor; those of actor `a` begin at `offsets[a]`. */
async function countByActor(dataset: Dataset, asked: Asked) {
  const { users } = dataset.counts;
  const wanted = kindsOf(dataset, asked.action);
  const offsets = new Int32Array(users + 1);
  let own = 0;
  await scanEvents(dataset, asked, ({ count, kind, actor, owner }) => {
    for (let row = 0; row < count; row++) {
      if (wanted[kind[row]!] === 0) continue;
      if (actor[row] === owner[row]) own += 1;
      else offsets[actor[row]! + 1]! += 1;
    }
  });
  await inSlices(0, users, (from, to) => {
    for (let actor = from; actor < to; actor++) offsets[actor + 1]! += offsets[actor]!;
  });
  return { offsets, events: offsets[users]!, own };
}

/** The owners of these events, grouped by actor. */
async function ownersByActor(dataset: Dataset, asked: Asked, offsets: Int32Array, events: number) {
  const wanted = kindsOf(dataset, asked.action);
  const owners = new Int32Array(events);
  const next = offsets.slice();
  await scanEvents(dataset, asked, ({ count, kind, actor, owner }) => {
    for (let row = 0; row < count; row++) {
      if (wanted[kind[row]!] === 0 || actor[row] === owner[row]) continue;
      owners[next[actor[row]!]!++] = owner[row]!;
    }
  });
  return owners;
}

interface Grouped {
  readonly offsets: Int32Array;
  readonly owners: Int32Array;
  /** Orders pairs with equal counts, by actor, then by owner; undefined: by their indices. */
  readonly order: UserOrder | undefined;
}

/**
 * Counts the owners of one actor at a time: a map of a million pairs would block the event loop
 * whenever it grows.
 */
async function countPairs({ offsets, owners, order }: Grouped, users: number, most: number) {
  const top = new Top(most);
  const counts = new Int32Array(users);
  const met: number[] = [];
  let pairs = 0;
  let actor = 0;
  const placeOf = (user: number) => order?.places[user] ?? user;
  const userAt = (place: number) => order?.byPlace[place] ?? place;
  const leaveActor = () => {
    for (const owner of met) {
      top.offer(counts[owner]!, placeOf(actor) * users + placeOf(owner));
      counts[owner] = 0;
    }
    pairs += met.length;
    met.length = 0;
  };
  await inSlices(0, owners.length, (from, to) => {
    for (let place = from; place < to; place++) {
      for (; place >= offsets[actor + 1]!; actor++) leaveActor();
      const owner = owners[place]!;
      if (counts[owner] === 0) met.push(owner);
      counts[owner]! += 1;
    }
  });
  leaveActor();
  const edges = top.ranked().map(({ rank, place }) => ({
    ...{ actor: userAt(Math.floor(place / users)), owner: userAt(place % users), events: rank },
  }));
  return { edges, pairs };
}
