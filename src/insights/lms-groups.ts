/**
 * Splits counts by the values of an LMS property of the actors. A value that few users have would
 * identify them, so it has no group of its own (decision 104).
 */
import type { Dataset } from '../dataset/dataset.ts';
import { sharedIntegers } from '../dataset/shared-arrays.ts';
import { AsyncMemo } from '../system/async-memo.ts';
import { inSlices } from '../system/time-slice.ts';
import type { Groups } from './groups.ts';
import { countEvents } from './ranking.ts';
import type { Asked } from './scan.ts';

/** The fewest users that a group, or a number above 0, is about. */
const FEWEST_USERS = 10;
/** Properties of a version whose values stay in memory. */
const KEPT_PROPERTIES = 4;

/** By index of a user: the position of the value in `values`, which begins with that of none. */
interface UserValues {
  readonly placeOf: Int32Array;
  readonly values: readonly string[];
}

/**
 * A group for each value that is shown, at most the `most` that most users have, in this order, and
 * one for all others. Users without a value have the value ''. The groups depend only on what the
 * key can see, not on the filters and the range of the request: differences between such groups
 * would show single users.
 */
export async function lmsGroupsOf(
  dataset: Dataset,
  property: string,
  { scope, threads }: Asked,
  most: number,
): Promise<Groups> {
  const { placeOf, values } = await valuesOf(dataset, property);
  const events = await countEvents(dataset, { scope, range: {}, threads }, 'actor');
  const shown = shownValues(values, await countActors(events, placeOf, values.length)).slice(0, most);
  const groupOfValue = new Int32Array(values.length).fill(shown.length);
  for (const [group, place] of shown.entries()) groupOfValue[place] = group;
  const groupOf = sharedIntegers(placeOf.length);
  await inSlices(0, placeOf.length, (from, to) => {
    for (let user = from; user < to; user++) groupOf[user] = groupOfValue[placeOf[user]!]!;
  });
  const names = [...shown.map((place) => values[place]!), undefined];
  return { column: 'actor', groupOf, names, fewestPeople: FEWEST_USERS };
}

/**
 * By position of the value: the number of users with events who have it. Others give no cover: that
 * they have no events can be seen.
 */
async function countActors(events: Float64Array, placeOf: Int32Array, values: number): Promise<Int32Array> {
  const users = new Int32Array(values);
  await inSlices(0, events.length, (from, to) => {
    for (let user = from; user < to; user++) if (events[user]! > 0) users[placeOf[user]!]! += 1;
  });
  return users;
}

/**
 * Positions of the values that enough users have, those of most users first. If all other users are
 * too few, the last value is not shown either.
 */
function shownValues(values: readonly string[], users: Int32Array): readonly number[] {
  const places = [...values.keys()].sort(
    (one, other) => users[other]! - users[one]! || (values[one]! < values[other]! ? -1 : 1),
  );
  const shown = places.filter((place) => users[place]! >= FEWEST_USERS);
  const others = places.slice(shown.length).reduce((sum, place) => sum + users[place]!, 0);
  return others > 0 && others < FEWEST_USERS ? shown.slice(0, -1) : shown;
}

const known = new WeakMap<Dataset, AsyncMemo<UserValues>>();

/** Read only once per dataset, as long as it is kept. */
function valuesOf(dataset: Dataset, property: string): Promise<UserValues> {
  const memo = known.get(dataset) ?? new AsyncMemo<UserValues>(KEPT_PROPERTIES);
  known.set(dataset, memo);
  return memo.take(property, () => readValues(dataset, property));
}

async function readValues(dataset: Dataset, property: string): Promise<UserValues> {
  const placeOf = new Int32Array(dataset.counts.users);
  const places = new Map([['', 0]]);
  for await (const rows of dataset.tables().properties()) {
    await inSlices(0, rows.user.length, (from, to) => {
      for (let row = from; row < to; row++) {
        if (rows.property[row] !== property) continue;
        const value = rows.value[row]!;
        const place = places.get(value) ?? places.size;
        places.set(value, place);
        placeOf[rows.user[row]!] = place;
      }
    });
  }
  return { placeOf, values: [...places.keys()] };
}
