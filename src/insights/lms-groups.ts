/**
 * Splits counts by the values of an LMS property of the actors. A value that few users have would
 * identify them, so it has no group of its own (decision 104).
 */
import type { CommonValues } from '../dataset/common-values.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { FEWEST_USERS, type PermittedProperty } from '../domain/lms-split.ts';
import type { Scope } from '../domain/scope.ts';
import { AsyncMemo } from '../system/async-memo.ts';
import { inSlices } from '../system/time-slice.ts';
import { type Groups, groupsFor } from './groups.ts';
import { countEvents, topOf } from './ranking.ts';
import type { Asked } from './scan.ts';
import { MOST_TOP } from './top.ts';

/** Scopes whose shown values are kept, for each property of a version; 8 KB each at most. */
const KEPT_SCOPES = 64;

/**
 * A group for each value that is shown, at most the `most` that most users have, in this order, and
 * one for all others. Users without a value have the value ''. The groups depend only on what the
 * key can see, not on the filters and the range of the request: differences between such groups
 * would show single users.
 */
export async function lmsGroupsOf(
  dataset: Dataset,
  property: PermittedProperty,
  { scope, threads }: Asked,
  most: number,
): Promise<Groups> {
  const common = await dataset.commonValues(property);
  const choose = () => chooseValues(dataset, common, { scope, range: {}, threads });
  const shown = (await memoOf(common).take(scope, choose)).slice(0, most);
  const { placeOf, values } = common;
  const groupOfValue = new Int32Array(values.length + 1).fill(shown.length);
  for (const [group, place] of shown.entries()) groupOfValue[place] = group;
  const groupOf = groupsFor(placeOf.length, shown.length + 1);
  await inSlices(0, placeOf.length, (from, to) => {
    for (let user = from; user < to; user++) groupOf[user] = groupOfValue[placeOf[user]!]!;
  });
  const names = [...shown.map((place) => values[place]!), undefined];
  return { column: 'actor', groupOf, names, fewestActors: FEWEST_USERS };
}

const chosen = new WeakMap<CommonValues, AsyncMemo<readonly number[], Scope>>();

/** By scope: the values that are shown, as long as the dataset keeps the values of the property. */
function memoOf(common: CommonValues): AsyncMemo<readonly number[], Scope> {
  const memo = chosen.get(common) ?? new AsyncMemo<readonly number[], Scope>(KEPT_SCOPES);
  chosen.set(common, memo);
  return memo;
}

/**
 * Places of the values that enough users with events have, those of most users first, at most
 * `MOST_TOP`. If all other users are too few, the last value is not shown either.
 */
async function chooseValues(
  dataset: Dataset,
  { placeOf, values }: CommonValues,
  asked: Asked,
): Promise<readonly number[]> {
  const events = await countEvents(dataset, asked, 'actor');
  const users = await countActors(events, placeOf, values.length + 1);
  let [common, others] = [0, 0];
  await inSlices(0, users.length, (from, to) => {
    for (let place = from; place < to; place++) {
      const isShown = place < values.length && users[place]! >= FEWEST_USERS;
      if (isShown) common += 1;
      else {
        others += users[place]!;
        users[place] = 0;
      }
    }
  });
  const places = await topOf(users, MOST_TOP);
  const areTooFew = others > 0 && others < FEWEST_USERS;
  return areTooFew && common <= MOST_TOP ? places.slice(0, -1) : places;
}

/**
 * By place of the value: the number of users with events who have it. Others give no cover: that
 * they have no events can be seen.
 */
async function countActors(events: Float64Array, placeOf: Int32Array, places: number): Promise<Float64Array> {
  const users = new Float64Array(places);
  await inSlices(0, events.length, (from, to) => {
    for (let user = from; user < to; user++) if (events[user]! > 0) users[placeOf[user]!]! += 1;
  });
  return users;
}
