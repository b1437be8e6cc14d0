/**
 * Bundles that are imported in sequence; every response reveals how many were imported, and whether
 * each is whole.
 */
import assert from 'node:assert/strict';
import { IS_LONG } from '../long.ts';
import { type Bundle, EMPTY_BUNDLE } from '../model/bundle.ts';

export const EVENTS_PER_BUNDLE = IS_LONG ? 800 : 200;
const USERS = 40n;
/** According to the default policy, which awards points for the pins that are created here. */
const POINTS_PER_EVENT = 10;

/**
 * Half of the events have no ids, so that an import wrongly taken for done would show as missing or
 * repeated events.
 */
export function numberedBundle(number: number): Bundle {
  const users = Array.from({ length: Number(USERS) }, (_, index) => BigInt(index + 1));
  return {
    ...EMPTY_BUNDLE,
    users: users.map((id) => ({ id, email: `u${id}@example.org`, name: `User ${id} of ${number}` })),
    boards: [{ id: 1n, title: `Board of ${number}` }],
    pins: [{ id: 1n, board_id: 1n, owner_id: 1n, title: 'Pin', body: 'one two '.repeat(20 + number) }],
    events: Array.from({ length: EVENTS_PER_BUNDLE }, (_, index) => ({
      ...(index % 2 === 0 ? { id: BigInt(number * EVENTS_PER_BUNDLE + index) } : {}),
      type: 'pin',
      action: 'created',
      owner_id: 1n,
      actor_id: (BigInt(index) % USERS) + 1n,
      board_id: 1n,
      pin_id: 1n,
      timestamp: new Date(Date.UTC(2024, 0, 1) + ((index * 7919 + number) % 5000) * 60_000).toISOString(),
    })),
  };
}

/** All of the bundles up to this one, as one bundle. */
export function bundlesUpTo(last: number): Bundle {
  const bundles = Array.from({ length: last + 1 }, (_, number) => numberedBundle(number));
  return {
    ...EMPTY_BUNDLE,
    users: bundles.flatMap(({ users }) => users),
    boards: bundles.flatMap(({ boards }) => boards),
    pins: bundles.flatMap(({ pins }) => pins),
    events: bundles.flatMap(({ events }) => events),
  };
}

export function countEvents(text: string): number {
  return text.split('"timestamp":').length - 1;
}

/** Responses that were already parsed: most are the same as one of the last few. */
const known = new Map<string, number>();
const KNOWN = 6;

/**
 * The number of the bundle to which all events, names, titles and bodies of a response belong;
 * fails if they differ.
 */
export function bundleOfEvents(text: string): number {
  const before = known.get(text);
  if (before !== undefined) return before;
  if (known.size === KNOWN) known.clear();
  const number = readBundleOfEvents(text);
  known.set(text, number);
  return number;
}

function readBundleOfEvents(text: string): number {
  const numbers = new Set([...text.matchAll(/"(?:User \d+|Board) of (\d+)"/g)].map(([, number]) => number));
  assert.equal(numbers.size, 1, `one answer speaks of the bundles ${[...numbers].join(', ')}`);
  const number = Number([...numbers][0]);
  assert.equal(countEvents(text), (number + 1) * EVENTS_PER_BUNDLE, `the events up to bundle ${number}`);
  const bodies = new Set([...text.matchAll(/"body":"([^"]*)"/g)].map(([, body = '']) => body.length));
  assert.deepEqual([...bodies], ['one two '.length * (20 + number)], `the body of bundle ${number}`);
  return number;
}

/** The number of the bundle to which the points of the board belong. */
export function bundleOfPoints(text: string): number {
  const records = Object.values<{ readonly total_points: number }>(JSON.parse(text));
  const total = records.reduce((sum, { total_points }) => sum + total_points, 0);
  assert.equal(total % (EVENTS_PER_BUNDLE * POINTS_PER_EVENT), 0, `${total} points are of no version`);
  return total / (EVENTS_PER_BUNDLE * POINTS_PER_EVENT) - 1;
}
