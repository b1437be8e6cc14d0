/** Splits counts into groups: one group for each value of a column of events. */
import type { Dataset } from '../dataset/dataset.ts';
import { sharedFlags, sharedIntegers } from '../dataset/shared-arrays.ts';
import { AsyncMemo } from '../system/async-memo.ts';
import { inSlices } from '../system/time-slice.ts';
import { countEvents, topOf } from './ranking.ts';
import type { Asked } from './scan.ts';

const COLUMN_SPLITS = ['action', 'type', 'board', 'role', 'class_role'] as const;
/** `lms` is a split by a property that the request names; see `lms-groups.ts`. */
export const SPLITS = [...COLUMN_SPLITS, 'lms'] as const;
type Split = (typeof COLUMN_SPLITS)[number];

/**
 * By value of a column: a group. With few groups, each is one byte, so that more of them fit into a
 * cache.
 */
export type GroupOf = Uint8Array | Int32Array;

interface GroupedValues {
  /** By value of the column: the position of its group in `names`. */
  readonly groupOf: GroupOf;
  /** A word, the index of a board, or undefined for the group of all other values. */
  readonly names: readonly (string | number | undefined)[];
}

interface GroupsOfEvents extends GroupedValues {
  readonly column: 'kind' | 'board';
  readonly fewestActors?: undefined;
}

interface GroupsOfActors extends GroupedValues {
  readonly column: 'actor';
  /** Counts of fewer actors in a period are added to the last group; absent: all are shown. */
  readonly fewestActors?: number | undefined;
}

export type Groups = GroupsOfEvents | GroupsOfActors;

const MOST_OF_BYTES = 256;

/** For `count` values; all are in the first of the groups. */
export function groupsFor(count: number, groups: number): GroupOf {
  return groups <= MOST_OF_BYTES ? sharedFlags(count) : sharedIntegers(count);
}

/** One group for all events. */
export function noGroups({ kinds }: Dataset): Groups {
  return { column: 'kind', groupOf: new Int32Array(kinds.length), names: [undefined] };
}

/**
 * At most `most` boards, those with the most events, have their own group; the others share one.
 */
export async function groupsOf(dataset: Dataset, split: Split, asked: Asked, most: number): Promise<Groups> {
  switch (split) {
    case 'action':
    case 'type':
      return { column: 'kind', ...groupWords(dataset.kinds.map((kind) => kind[split])) };
    case 'role':
    case 'class_role':
      return await rolesOf(dataset, split);
    case 'board': {
      const ranked = await topOf(await countEvents(dataset, asked, 'board'), most);
      return groupIndices(dataset.counts.boards, ranked);
    }
  }
}

function groupWords(words: readonly string[]): Pick<Groups, 'groupOf' | 'names'> {
  const places = new Map<string, number>();
  const groupOf = Int32Array.from(words, (word) => {
    const place = places.get(word) ?? places.size;
    places.set(word, place);
    return place;
  });
  return { groupOf, names: [...places.keys()] };
}

function groupIndices(count: number, indices: readonly number[]): Groups {
  const groupOf = groupsFor(count, indices.length + 1).fill(indices.length);
  for (const [place, index] of indices.entries()) groupOf[index] = place;
  return { column: 'board', groupOf, names: [...indices, undefined] };
}

type RoleColumn = 'role' | 'class_role';

const roles = new WeakMap<Dataset, AsyncMemo<Groups>>();

/** A group for each role of actors; read only once per dataset. */
function rolesOf(dataset: Dataset, column: RoleColumn): Promise<Groups> {
  const known = roles.get(dataset) ?? new AsyncMemo<Groups>();
  roles.set(dataset, known);
  return known.take(column, () => readRoles(dataset, column));
}

async function readRoles(dataset: Dataset, column: RoleColumn): Promise<Groups> {
  const placeOf = new Int32Array(dataset.counts.users);
  const places = new Map<string, number>();
  let user = 0;
  for await (const { [column]: role } of dataset.records('users')) {
    await inSlices(0, role.count, (from, to) => {
      for (let at = from; at < to; at++) {
        const text = role.at(at);
        const place = places.get(text) ?? places.size;
        places.set(text, place);
        placeOf[user++] = place;
      }
    });
  }
  const groupOf = groupsFor(placeOf.length, places.size);
  await inSlices(0, placeOf.length, (from, to) => groupOf.set(placeOf.subarray(from, to), from));
  return { column: 'actor', groupOf, names: [...places.keys()] };
}
