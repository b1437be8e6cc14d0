/**
 * The users of a version in the order of their pseudonymous ids (decision 63). If lists or ties
 * were in the order of the real ids, anybody who has all ids could match the two.
 */

import type { Dataset } from '../../dataset/dataset.ts';
import { firstPlace } from '../../dataset/first-place.ts';
import type { UserOrder } from '../../dataset/query.ts';
import { inSlices } from '../../system/time-slice.ts';
import type { UserPseudonyms } from './user-pseudonyms.ts';

export interface PseudonymOrder extends UserOrder {
  /** By index of the user. */
  readonly pseudonyms: BigInt64Array;
}

/** Pseudonyms made between two checks of the clock. */
const MADE_AT_ONCE = 512;

const DIGIT_VALUES = 2 ** 16;
/** Byte offsets of the 16-bit digits of an id in little-endian form, the lowest digit first. */
const DIGITS = [0, 2, 4, 6];
/** The sign bit in the highest digit; flipped, so that negative ids come first. */
const SIGN = 2 ** 15;

/** The pseudonyms of `ids`, in the same order, in time slices. */
export async function pseudonymsOf(ids: BigInt64Array, users: UserPseudonyms): Promise<BigInt64Array> {
  const pseudonyms = new BigInt64Array(ids.length);
  const make = (from: number, to: number) => pseudonyms.set(users.of(ids.subarray(from, to)), from);
  await inSlices(0, ids.length, make, MADE_AT_ONCE);
  return pseudonyms;
}

/** Computed once per version, regardless of the redaction of other fields. */
const orders = new WeakMap<Dataset, Promise<PseudonymOrder>>();

/** The order is cached per dataset, so all calls for a dataset must pass the same pseudonyms. */
export function orderByPseudonyms(dataset: Dataset, users: UserPseudonyms): Promise<PseudonymOrder> {
  let known = orders.get(dataset);
  if (known === undefined) {
    known = readOrder(dataset, users);
    known.catch(() => orders.delete(dataset));
    orders.set(dataset, known);
  }
  return known;
}

async function readOrder(dataset: Dataset, users: UserPseudonyms): Promise<PseudonymOrder> {
  const { users: count } = dataset.counts;
  const pseudonyms = new BigInt64Array(count);
  let read = 0;
  for await (const ids of dataset.tables().ids('users')) {
    pseudonyms.set(await pseudonymsOf(ids, users), read);
    read += ids.length;
  }
  const bytes = new DataView(pseudonyms.buffer);
  // A radix sort, lowest digit first: sorting by comparisons could not be interrupted.
  let byPlace = new Int32Array(count);
  for (let index = 0; index < count; index++) byPlace[index] = index;
  for (const digit of DIGITS) {
    const flipped = digit === DIGITS.at(-1) ? SIGN : 0;
    byPlace = await sortedBy(
      byPlace,
      (index) => bytes.getUint16(index * pseudonyms.BYTES_PER_ELEMENT + digit, true) ^ flipped,
    );
  }
  const places = new Int32Array(count);
  for (let place = 0; place < count; place++) places[byPlace[place]!] = place;
  return { byPlace, places, pseudonyms };
}

/** A stable sort by one digit. */
async function sortedBy(
  order: Int32Array,
  digitOf: (index: number) => number,
): Promise<Int32Array<ArrayBuffer>> {
  const starts = new Int32Array(DIGIT_VALUES + 1);
  const sorted = new Int32Array(order.length);
  await inSlices(0, order.length, (from, to) => {
    for (let at = from; at < to; at++) starts[digitOf(order[at]!) + 1]! += 1;
  });
  for (let digit = 0; digit < DIGIT_VALUES; digit++) starts[digit + 1]! += starts[digit]!;
  await inSlices(0, order.length, (from, to) => {
    for (let at = from; at < to; at++) sorted[starts[digitOf(order[at]!)]!++] = order[at]!;
  });
  return sorted;
}

/** The position of the first pseudonym that is larger than `pseudonym`. */
export function placeAfter({ byPlace, pseudonyms }: PseudonymOrder, pseudonym: bigint): number {
  return firstPlace(0, byPlace.length, (place) => pseudonyms[byPlace[place]!]! > pseudonym);
}

/** The first of these users from position `from` on, in order, at most `limit`. */
export function inOrder(
  { byPlace }: PseudonymOrder,
  users: Int32Array,
  from: number,
  limit = users.length,
): Int32Array {
  if (users.length === byPlace.length) return byPlace.subarray(from, from + limit);
  const isMeant = new Uint8Array(byPlace.length);
  for (const user of users) isMeant[user] = 1;
  const found = new Int32Array(Math.min(limit, users.length));
  let count = 0;
  for (let place = from; place < byPlace.length && count < found.length; place++) {
    const user = byPlace[place]!;
    if (isMeant[user] === 1) found[count++] = user;
  }
  return found.subarray(0, count);
}
