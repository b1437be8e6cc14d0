/**
 * The users of a version in the order of their pseudonymous ids (decision 63). The order of the
 * real ids, in lists or among equal figures, would let anybody who has all of them put the two side
 * by side.
 */
import type { Dataset } from '../../dataset/dataset.ts';
import type { UserOrder } from '../../dataset/query.ts';
import { inSlices } from '../../system/time-slice.ts';
import type { UserPseudonyms } from './user-pseudonyms.ts';

export interface PseudonymOrder extends UserOrder {
  /** By index. */
  readonly pseudonyms: BigInt64Array;
}

/** Pseudonyms made between two looks at the clock. */
const MADE_AT_ONCE = 512;

const DIGIT_VALUES = 2 ** 16;
/** Of an id, in bytes of its little-endian form: the lowest digit first. */
const DIGITS = [0, 2, 4, 6];
/** Of the uppermost digit, so that negative ids come first. */
const SIGN = 2 ** 15;

/** In the order of the ids, in slices of time. */
export async function pseudonymsOf(ids: BigInt64Array, users: UserPseudonyms): Promise<BigInt64Array> {
  const pseudonyms = new BigInt64Array(ids.length);
  const make = (from: number, to: number) => pseudonyms.set(users.of(ids.subarray(from, to)), from);
  await inSlices(0, ids.length, make, MADE_AT_ONCE);
  return pseudonyms;
}

/** Once a version, whatever else is redacted. */
const orders = new WeakMap<Dataset, Promise<PseudonymOrder>>();

/** All calls about a dataset have the same pseudonyms. */
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
  // By one digit after the other, the lowest first: sorting by comparisons could not be
  // interrupted.
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

/** Those with the same digit stay in the order in which they are. */
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

/** The place of the first pseudonym that is larger. */
export function placeAfter({ byPlace, pseudonyms }: PseudonymOrder, pseudonym: bigint): number {
  let [from, to] = [0, byPlace.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (pseudonyms[byPlace[middle]!]! > pseudonym) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** The first of these users from a place on, in order, at most `limit`. */
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
